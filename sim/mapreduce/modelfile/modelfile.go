// Package modelfile reads the parameters of the MapReduce phase model from a YAML file, or finds them by name among the models that
// come with Yardmaster. Its example, with every key and where each value is from, is mrperf-2010.yaml beside this file.
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

// Default is the model that is meant where none is named.
const Default = "mrperf-2010"

//go:embed *.yaml
var built embed.FS

// Names lists the models that come with Yardmaster.
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

// Text is the file of a model that comes with Yardmaster, to start one's own from.
func Text(name string) (string, error) {
	if !slices.Contains(Names(), name) {
		return "", fmt.Errorf("no model is named %q; there is %s", name, strings.Join(Names(), ", "))
	}
	data, err := built.ReadFile(name + ".yaml")
	return string(data), err
}

// Open finds a model by name, or reads it from a file. The empty name is Default.
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

// Parse reads a file that is in memory.
func Parse(name string, data []byte) (mapreduce.Model, error) {
	root, err := yamlfile.Parse(name, data)
	if err != nil {
		return mapreduce.Model{}, err
	}
	return read(root)
}
