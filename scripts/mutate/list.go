package main

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
)

// A mutant replaces one line. It is found by its function and its text, so that edits elsewhere in the file do not matter.
type mutant struct {
	file, function string // function is "-" outside of functions
	nth            int    // of the function's lines with this text, from 1
	old, new       string // trimmed; an empty new deletes the line
	reason         string // why it may survive

	line int    // from 1
	src  []byte // the mutated file
}

func (m *mutant) dir() string { return path.Dir(m.file) }

// name is how an entry of the list begins.
func (m *mutant) name() string {
	if m.nth > 1 {
		return fmt.Sprintf("%s %s %d", m.file, m.function, m.nth)
	}
	return m.file + " " + m.function
}

type list struct {
	mutants []*mutant
	tests   map[string][]*tests // that run for a package
}

// read reads a list of mutants of the files under root. An entry that does not fit is an error.
func read(root, file string) (*list, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	l := &list{tests: map[string][]*tests{}}
	known := map[string]*tests{}
	testsOf := func(dir string, of []string) {
		for _, d := range of {
			if known[d] == nil {
				known[d] = &tests{dir: d}
			}
			l.tests[dir] = append(l.tests[dir], known[d])
		}
	}
	m := new(mutant)
	for n, line := range strings.Split(string(text), "\n") {
		mark, rest, _ := strings.Cut(line, " ")
		switch words := strings.Fields(line); {
		case line == "" || mark == "#":
		case mark == "test" && len(words) > 2:
			testsOf(words[1], words[2:])
		case mark == "-":
			m.old = rest
		case mark == "+":
			m.new = rest
		case mark == "=":
			m.reason = rest
		case len(words) > 1 && strings.HasSuffix(mark, ".go"):
			m = &mutant{file: mark, function: words[1], nth: 1}
			if len(words) > 2 {
				if m.nth, err = strconv.Atoi(words[2]); err != nil {
					return nil, fmt.Errorf("%s:%d: %w", file, n+1, err)
				}
			}
			l.mutants = append(l.mutants, m)
		default:
			return nil, fmt.Errorf("%s:%d: want FILE FUNCTION [NUMBER], - LINE, + LINE, = REASON or test DIR DIR...: %q", file, n+1, line)
		}
	}
	var stale []string
	seen := map[string]bool{}
	for _, m := range l.mutants {
		if l.tests[m.dir()] == nil {
			testsOf(m.dir(), []string{m.dir()})
		}
		err := m.locate(root)
		if key := m.name() + m.old + m.new; seen[key] {
			err = fmt.Errorf("it is listed twice")
		} else {
			seen[key] = true
		}
		if err != nil {
			stale = append(stale, fmt.Sprintf("%s: %v\n- %s\n+ %s", m.name(), err, m.old, m.new))
		}
	}
	if stale != nil {
		return nil, fmt.Errorf("%s: write these entries anew, from the functions as they are now:\n%s", file, strings.Join(stale, "\n"))
	}
	return l, nil
}

// locate finds the line and makes the mutated file.
func (m *mutant) locate(root string) error {
	src, err := os.ReadFile(filepath.Join(root, m.file))
	if err != nil {
		return err
	}
	lines := bytes.Split(src, []byte("\n"))
	in, _, err := functions(m.file, src)
	if err != nil {
		return err
	}
	same := 0
	for i, line := range lines {
		if in[i] == m.function && string(bytes.TrimSpace(line)) == m.old {
			if same++; same == m.nth {
				m.line = i + 1
			}
		}
	}
	switch {
	case m.old == m.new || m.old == "":
		return fmt.Errorf("it changes nothing")
	case m.line == 0:
		return fmt.Errorf("the function has %d lines with this text", same)
	}
	lines[m.line-1] = []byte(m.new)
	m.src = bytes.Join(lines, []byte("\n"))
	_, err = parser.ParseFile(token.NewFileSet(), m.file, m.src, 0)
	return err
}

// functions names the function of every line of a file, "-" outside of functions.
func functions(file string, src []byte) ([]string, *ast.File, error) {
	set := token.NewFileSet() // without other files: a position is an offset
	f, err := parser.ParseFile(set, file, src, parser.SkipObjectResolution)
	if err != nil {
		return nil, nil, err
	}
	in := make([]string, bytes.Count(src, []byte("\n"))+1)
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok {
			for i := set.Position(fn.Pos()).Line - 1; i < set.Position(fn.End()).Line; i++ {
				in[i] = receiver(fn) + fn.Name.Name
			}
		}
	}
	for i := range in {
		in[i] = cmp.Or(in[i], "-")
	}
	return in, f, nil
}

func receiver(fn *ast.FuncDecl) string {
	if fn.Recv == nil {
		return ""
	}
	t := fn.Recv.List[0].Type
	if p, ok := t.(*ast.StarExpr); ok {
		t = p.X
	}
	if g, ok := t.(*ast.IndexExpr); ok {
		t = g.X
	}
	return fmt.Sprintf("%s.", t)
}
