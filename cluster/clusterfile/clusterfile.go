// Package clusterfile reads descriptions of a cluster: the shorthand 600x6/30, a YAML file, or, with a parser of the caller's, a JSON
// file. Files are recognised by content, not by name.
//
// A YAML file has groups of identical nodes, single nodes, or both:
//
//	groups:
//	  - count: 500
//	    racks: 25          # this many racks of its own, or a list of names (shared by groups that name the same)
//	    memory: 64GB       # a bare number counts MiB
//	    cores: 16
//	    resources: {gpu: 8} # optional; named by you: nvidia.com/gpu, licence
//	    kind: big          # optional; a label that policies and reports see
//	    name: "big{}"      # optional; {} is the node's number in the group, from 1
//	nodes:
//	  - name: edge1
//	    rack: rack1
//	    memory: 8GB
//	    cores: 4
//
// With map-slots and reduce-slots instead of memory and cores, containers are fixed slots as in Hadoop 1; a file cannot
// mix the two.
//
// Machines may differ in price, in room for blocks and in speed: a number, the model scale-up, or a curve of one's own (see cluster.Speed).
//
//   - count: 6
//     kind: scale-up
//     cost: 5000
//     storage: 24TB
//     speed: {small: 3.33, even: 1.55, large: 1.08, cross: [32GB@1, 64GB@1.6]}
//
// A network: section describes the network, key by key or as the one line that the flag takes; nic: overrides the rate of a
// group's or a node's own link.
//
//	network:
//	  topology: racks
//	  node: 250Mbit
//	  uplink: 1Gbit
package clusterfile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"

	"github.com/yardmaster/yardmaster/cluster"
	"github.com/yardmaster/yardmaster/internal/input"
	"github.com/yardmaster/yardmaster/internal/suggest"
	"github.com/yardmaster/yardmaster/internal/yamlfile"
)

// shorthand matches what is never a file name.
var shorthand = regexp.MustCompile(`^[0-9]+x[0-9]+(\+[0-9]+)?(/[0-9]+)?$`)

// Topology parses a JSON file, of nodes of the given size.
type Topology func(name string, data []byte, each Size) (*cluster.Cluster, error)

// Open reads a cluster from a shorthand or a file path; JSON is read by topology, if there is one. A file without node sizes takes
// them as a suffix: topology.json:6 (containers) or topology.json:4+2 (map and reduce slots).
func Open(spec string, topology Topology) (*cluster.Cluster, error) {
	if shorthand.MatchString(spec) {
		return cluster.Parse(spec)
	}
	var each Size
	path := spec
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		if short, s, ok := cutSize(spec); ok {
			path, each = short, s
			f, err = os.Open(path)
		}
	}
	if errors.Is(err, os.ErrNotExist) {
		if looksLikeShorthand(spec) {
			return cluster.Parse(spec) // for its error message
		}
		err := fmt.Errorf("cluster %q: no such file, and not a shorthand such as 600x6/30 (600 nodes of 6 containers in 30 racks)%s",
			spec, hint(path))
		if strings.ContainsAny(spec, "./") { // the user meant a file
			err = &fileError{err}
		}
		return nil, err
	}
	if err != nil {
		return nil, &fileError{fmt.Errorf("cluster: %w", err)}
	}
	defer f.Close()
	if st, err := f.Stat(); err == nil && st.IsDir() {
		return nil, &fileError{fmt.Errorf("cluster: %s is a folder: name the file in it", path)}
	}
	in, err := input.NewFile(f, path, input.Limits{Bytes: maxSize})
	if err != nil {
		return nil, fmt.Errorf("cluster: %w", err)
	}
	data, err := io.ReadAll(io.LimitReader(in, maxSize+1))
	if err != nil {
		return nil, fmt.Errorf("cluster: read %s: %w", path, err)
	}
	if len(data) > maxSize {
		return nil, fmt.Errorf("cluster %s: larger than %d MiB", path, maxSize>>20)
	}
	return parse(path, data, each, topology)
}

// ErrFile marks (errors.Is) errors in reaching a file, as opposed to errors in its content.
var ErrFile = errors.New("the file cannot be reached")

type fileError struct{ err error }

func (e *fileError) Error() string        { return e.err.Error() }
func (e *fileError) Unwrap() error        { return e.err }
func (e *fileError) Is(target error) bool { return target == ErrFile }

// maxSize limits a cluster file: a million nodes fit.
const maxSize = 128 << 20

// looksLikeShorthand reports whether the start of s can only be a shorthand.
func looksLikeShorthand(s string) bool {
	nodes, rest, ok := strings.Cut(s, "x")
	return ok && nodes != "" && rest != "" && strings.Trim(nodes, "0123456789") == "" && strings.Trim(rest, "0123456789+/") == ""
}

// hint suggests a similarly named file in the same folder.
func hint(spec string) string {
	dir, name := ".", spec
	if i := strings.LastIndexByte(spec, '/'); i >= 0 {
		dir, name = spec[:i+1], spec[i+1:]
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) > 10_000 {
		return ""
	}
	var names []string
	for _, e := range entries {
		if !e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return suggest.Hint(name, names)
}

// Parse parses the content of a YAML file.
func Parse(name string, data []byte) (*cluster.Cluster, error) { return parse(name, data, Size{}, nil) }

func parse(name string, data []byte, each Size, topology Topology) (*cluster.Cluster, error) {
	if topology != nil && isJSON(data) {
		return topology(name, data, each)
	}
	if each != (Size{}) {
		return nil, fmt.Errorf("cluster %s: a YAML file says itself how large its nodes are; leave out what follows the colon", name)
	}
	root, err := yamlfile.Parse(name, data)
	if err != nil {
		return nil, err
	}
	return parseYAML(root)
}
