package main

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/token"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// swaps are the operators that replace each other.
var swaps = map[token.Token][]token.Token{
	token.LSS: {token.LEQ, token.GEQ}, token.LEQ: {token.LSS, token.GTR},
	token.GTR: {token.GEQ, token.LEQ}, token.GEQ: {token.GTR, token.LSS},
	token.EQL: {token.NEQ}, token.NEQ: {token.EQL}, token.LAND: {token.LOR}, token.LOR: {token.LAND},
	token.ADD: {token.SUB}, token.SUB: {token.ADD}, token.MUL: {token.QUO}, token.QUO: {token.MUL}, token.REM: {token.MUL},
	token.ADD_ASSIGN: {token.SUB_ASSIGN}, token.SUB_ASSIGN: {token.ADD_ASSIGN},
	token.MUL_ASSIGN: {token.QUO_ASSIGN}, token.QUO_ASSIGN: {token.MUL_ASSIGN},
	token.INC: {token.DEC}, token.DEC: {token.INC},
}

var names = map[string]string{"min": "max", "max": "min", "true": "false", "false": "true",
	"MinFunc": "MaxFunc", "MaxFunc": "MinFunc"}

// unseen are lines that no test should notice: texts for people, capacities.
var unseen = regexp.MustCompile(`Errorf|errors\.|make\(|panic\(|slices\.Grow|Sprint|fmt\.|clear\(|\[:0\]`)

// candidates prints count entries, as many from each folder as its share of the lines, drawn with a seed.
func candidates(w io.Writer, args []string) error {
	flags := flag.NewFlagSet("candidates", flag.ExitOnError)
	seed := flags.Uint64("seed", 1, "")
	count := flags.Int("count", 300, "")
	if err := flags.Parse(args); err != nil {
		return err
	}
	drawn := make([][]*mutant, flags.NArg())
	lines := make([]int, flags.NArg())
	total := 0
	for i, dir := range flags.Args() {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			return err
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			src, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			found, err := mutate(filepath.ToSlash(file), src)
			if err != nil {
				return err
			}
			drawn[i] = append(drawn[i], found...)
			lines[i] += bytes.Count(src, []byte("\n"))
		}
		total += lines[i]
	}
	before, printed := 0, 0
	for i, all := range drawn {
		random := rand.New(rand.NewPCG(*seed, uint64(i))) //nolint:gosec // a sample, no secret
		random.Shuffle(len(all), func(a, b int) { all[a], all[b] = all[b], all[a] })
		before += lines[i]
		for _, m := range all[:max(0, min(len(all), *count*before/total-printed))] {
			printed++
			fmt.Fprintf(w, "%s\n- %s\n%s\n\n", m.name(), m.old, strings.TrimSpace("+ "+m.new))
		}
	}
	return nil
}

// mutate lists the mutants of one file, one for each operator, constant or statement.
func mutate(file string, src []byte) ([]*mutant, error) {
	in, f, err := functions(file, src)
	if err != nil {
		return nil, err
	}
	lines := bytes.Split(src, []byte("\n"))
	lineOf := func(pos token.Pos) int { return bytes.Count(src[:pos-1], []byte("\n")) }
	var found []*mutant
	add := func(pos token.Pos, length int, replacement string) {
		at := lineOf(pos)
		line, column := string(lines[at]), int(pos)-2-bytes.LastIndexByte(src[:pos-1], '\n')
		m := &mutant{file: file, function: in[at], old: strings.TrimSpace(line)}
		m.new = strings.TrimSpace(line[:column] + replacement + line[column+length:])
		for i := range at + 1 {
			if in[i] == m.function && string(bytes.TrimSpace(lines[i])) == m.old {
				m.nth++
			}
		}
		if m.function != "-" && !unseen.MatchString(line) {
			found = append(found, m)
		}
	}
	swap := func(pos token.Pos, op token.Token) {
		if to := swaps[op]; len(to) > 0 {
			add(pos, len(op.String()), to[int(pos)%len(to)].String())
		}
	}
	remove := func(s ast.Stmt) {
		if lineOf(s.Pos()) == lineOf(s.End()) {
			add(s.Pos(), int(s.End()-s.Pos()), "")
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BinaryExpr:
			swap(n.OpPos, n.Op)
		case *ast.IncDecStmt:
			swap(n.TokPos, n.Tok)
		case *ast.AssignStmt:
			swap(n.TokPos, n.Tok)
		case *ast.UnaryExpr:
			if n.Op == token.NOT {
				add(n.OpPos, 1, "")
			}
		case *ast.Ident:
			if to := names[n.Name]; to != "" {
				add(n.Pos(), len(n.Name), to)
			}
		case *ast.BasicLit:
			if v, err := strconv.Atoi(n.Value); err == nil {
				add(n.Pos(), len(n.Value), strconv.Itoa(v+1))
			}
		case *ast.CallExpr: // the direction of an order
			if s, ok := n.Fun.(*ast.SelectorExpr); ok && s.Sel.Name == "Compare" && len(n.Args) == 2 {
				add(s.Pos(), 0, "-")
			}
		case *ast.BlockStmt:
			for _, s := range n.List {
				switch s := s.(type) {
				case *ast.ExprStmt, *ast.BranchStmt, *ast.IncDecStmt:
					remove(s)
				case *ast.AssignStmt:
					if s.Tok != token.DEFINE {
						remove(s)
					}
				}
			}
		}
		return true
	})
	return found, nil
}
