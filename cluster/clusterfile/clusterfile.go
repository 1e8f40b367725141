// Package clusterfile opens whatever describes a cluster: the shorthand 600x6/30, a YAML file, a node file of YARN's
// Scheduler Load Simulator, or a Rumen topology. Files are told apart by what is in them, not by their names.
//
// A YAML file has groups of like nodes, or single nodes, or both:
//
//	groups:
//	  - count: 500
//	    racks: 25          # this many racks of its own, or a list of names (shared by groups that name the same)
//	    memory: 64GB       # a bare number counts MiB
//	    cores: 16
//	    kind: big          # optional; a label that policies and reports see
//	    name: "big{}"      # optional; {} is the node's number in the group, from 1
//	nodes:
//	  - name: edge1
//	    rack: rack1
//	    memory: 8GB
//	    cores: 4
//
// With map-slots and reduce-slots instead of memory and cores, containers are fixed slots as in Hadoop 1; one file uses
// either the one or the other.
//
// A network: section says what joins the nodes, key by key or as the line that a flag takes; nic: is the rate of a group's
// or a node's own link where it differs.
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
	"github.com/yardmaster/yardmaster/internal/suggest"
	"github.com/yardmaster/yardmaster/internal/yamlfile"
	"github.com/yardmaster/yardmaster/workload/input"
)

// shorthand is what is never taken for a file name.
var shorthand = regexp.MustCompile(`^[0-9]+x[0-9]+(\+[0-9]+)?(/[0-9]+)?$`)

// Open reads what a person wrote for a cluster: a shorthand or the path of a file. A file of nodes without sizes is followed
// by what each has: topology.json:6 (containers) or topology.json:4+2 (map and reduce slots).
func Open(spec string) (*cluster.Cluster, error) {
	if shorthand.MatchString(spec) {
		return cluster.Parse(spec)
	}
	var each size
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
			return cluster.Parse(spec) // its message says what is wrong with it
		}
		err := fmt.Errorf("cluster %q: no such file, and not a shorthand such as 600x6/30 (600 nodes of 6 containers in 30 racks)%s",
			spec, hint(path))
		if strings.ContainsAny(spec, "./") { // it was meant to be a file
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
	return parse(path, data, each)
}

// ErrFile is what errors are (errors.Is) that are about reaching a file, as opposed to what is in it.
var ErrFile = errors.New("the file cannot be reached")

type fileError struct{ err error }

func (e *fileError) Error() string        { return e.err.Error() }
func (e *fileError) Unwrap() error        { return e.err }
func (e *fileError) Is(target error) bool { return target == ErrFile }

// maxSize bounds a file of nodes: a million of them fit.
const maxSize = 128 << 20

// looksLikeShorthand says that the start of a word can only be a shorthand.
func looksLikeShorthand(s string) bool {
	nodes, rest, ok := strings.Cut(s, "x")
	return ok && nodes != "" && rest != "" && strings.Trim(nodes, "0123456789") == "" && strings.Trim(rest, "0123456789+/") == ""
}

// hint names a file beside the missing one that was perhaps meant.
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

// Parse reads a file that is in memory.
func Parse(name string, data []byte) (*cluster.Cluster, error) { return parse(name, data, size{}) }

func parse(name string, data []byte, each size) (*cluster.Cluster, error) {
	if isJSON(data) {
		return parseJSON(name, data, each)
	}
	if each != (size{}) {
		return nil, fmt.Errorf("cluster %s: a YAML file says itself how large its nodes are; leave out what follows the colon", name)
	}
	root, err := yamlfile.Parse(name, data)
	if err != nil {
		return nil, err
	}
	return parseYAML(root)
}
