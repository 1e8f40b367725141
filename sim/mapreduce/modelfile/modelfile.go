// Package modelfile reads the parameters of the MapReduce phase model from a YAML file, or by name from the built-in models. For an
// example with every key and the source of each value see mrperf-2010.yaml in this folder.
package modelfile

import (
	"embed"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/yardmaster/yardmaster/internal/suggest"
	"github.com/yardmaster/yardmaster/internal/yamlfile"
	"github.com/yardmaster/yardmaster/sim/mapreduce"
)

// Default is the model used if none is named.
const Default = "mrperf-2010"

//go:embed *.yaml
var built embed.FS

// Names lists the built-in models.
func Names() []string {
	entries, err := built.ReadDir(".")
	if err != nil {
		panic(err) // it is compiled in
	}
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), path.Ext(e.Name())))
	}
	slices.Sort(names)
	return names
}

// Text returns the file of a built-in model, as a starting point for one's own.
func Text(name string) (string, error) {
	if !slices.Contains(Names(), name) {
		return "", fmt.Errorf("unknown model %q: want one of %s", name, strings.Join(Names(), ", "))
	}
	data, err := built.ReadFile(name + ".yaml")
	return string(data), err
}

// Open returns a built-in model by name, or reads one from a file. The empty name is Default.
func Open(spec string) (mapreduce.Model, error) {
	if spec == "" {
		spec = Default
	}
	if text, err := Text(spec); err == nil {
		return Parse(spec+".yaml", []byte(text))
	}
	root, err := yamlfile.Open(spec)
	if errors.Is(err, os.ErrNotExist) {
		return mapreduce.Model{}, fmt.Errorf("model %q: no such file, and none of the models that are built in (%s)%s",
			spec, strings.Join(Names(), ", "), suggest.Hint(spec, Names()))
	}
	if err != nil {
		return mapreduce.Model{}, fmt.Errorf("model: %w", err)
	}
	return read(root)
}

// Parse parses the content of a file.
func Parse(name string, data []byte) (mapreduce.Model, error) {
	root, err := yamlfile.Parse(name, data)
	if err != nil {
		return mapreduce.Model{}, err
	}
	return read(root)
}
