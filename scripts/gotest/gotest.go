// Gotest runs go test with its arguments and prints what go test would. If YARDMASTER_TEST_TIMES names a file, it adds a line to it for every
// test: seconds, package, name. CI prints the slowest from it.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
)

func main() {
	args := os.Args[1:]
	times := io.Discard
	if name := os.Getenv("YARDMASTER_TEST_TIMES"); name != "" {
		f, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
		if err != nil {
			fmt.Fprintln(os.Stderr, "gotest:", err)
			os.Exit(2)
		}
		defer f.Close()
		times = f
	}
	c := exec.Command("go", append([]string{"test", "-json"}, args...)...)
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "gotest:", err)
		os.Exit(2)
	}
	err = show(out, os.Stdout, times, slices.Contains(args, "-v"))
	_, _ = io.Copy(io.Discard, out) // go test is not to wait for a reader
	if err := errors.Join(c.Wait(), err); err != nil {
		os.Exit(1)
	}
}

// event is a line of go test -json.
type event struct {
	Action, Package, Test, Output string
	Elapsed                       float64
}

// show prints the output of go test -json as go test prints it, each package's in one piece: with all tests, or with those that failed.
func show(in io.Reader, out, times io.Writer, verbose bool) error {
	texts := map[string]*strings.Builder{} // output that is not printed yet, by package, and unless verbose by package and test
	streaming := ""                        // the package whose output is printed as it comes
	var held []event                       // the ends of packages that ended while another one was streaming
	text := func(key string) *strings.Builder {
		if texts[key] == nil {
			texts[key] = &strings.Builder{}
		}
		return texts[key]
	}
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			var e event
			if json.Unmarshal(line, &e) != nil {
				_, _ = out.Write(line) // not of a test
			}
			key := e.Package
			if e.Test != "" && !verbose {
				key += " " + e.Test
			}
			ended := e.Action == "pass" || e.Action == "fail" || e.Action == "skip"
			switch {
			case e.Action == "build-output":
				fmt.Fprint(out, e.Output)
			case e.Action == "output" && verbose:
				text(key).WriteString(e.Output)
				if streaming == "" || streaming == e.Package {
					streaming = e.Package
					fmt.Fprint(out, text(key))
					delete(texts, key)
				}
			case e.Action == "output" && !strings.HasPrefix(e.Output, "=== "):
				text(key).WriteString(e.Output)
			case ended && e.Test != "":
				if e.Action != "fail" && !verbose {
					delete(texts, key)
				}
				if !strings.Contains(e.Test, "/") {
					fmt.Fprintf(times, "%.2f\t%s\t%s\n", e.Elapsed, e.Package, e.Test)
				}
			case ended:
				held = append(held, e)
				if streaming == "" || streaming == e.Package {
					for _, h := range held {
						finish(out, texts, h.Package, h.Action == "fail" || verbose)
					}
					streaming, held = "", nil
				}
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// finish prints what is left of a package that has ended: all of it, or its last line.
func finish(out io.Writer, texts map[string]*strings.Builder, pkg string, all bool) {
	own := ""
	if b := texts[pkg]; b != nil {
		own = b.String()
	}
	if !all {
		own = own[strings.LastIndexByte(strings.TrimSuffix(own, "\n"), '\n')+1:]
	}
	delete(texts, pkg)
	var keys []string
	for key := range texts {
		if strings.HasPrefix(key, pkg+" ") {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	for _, key := range keys { // of tests that failed, or did not end
		fmt.Fprint(out, texts[key].String())
		delete(texts, key)
	}
	fmt.Fprint(out, own)
}
