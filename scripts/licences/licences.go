// Licences prints the licence texts of everything linked into commands on any supported system: Go's standard library and the modules of go.mod that they
// need. Without arguments it is about cmd/yardmaster, whose texts its test compares with THIRD_PARTY_LICENSES.
package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

func main() {
	commands := os.Args[1:]
	if len(commands) == 0 {
		commands = []string{"./cmd/yardmaster"}
	}
	text, err := licences(commands...)
	if err != nil {
		fmt.Fprintln(os.Stderr, "licences:", err)
		os.Exit(1)
	}
	fmt.Print(text)
}

// systems are the supported ones: some packages are linked on only one of them.
var systems = []string{"linux", "darwin", "windows"}

// legal matches the names of files that must be distributed with the program.
var legal = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents)([-.].*)?$`)

const head = `yardmaster is linked with the following software. This file holds their licences and notices, each once, and the names of what it covers.
It is made by "make licences", and a test compares it with go.mod.
`

// licences returns the licence texts of commands.
func licences(commands ...string) (string, error) {
	covers := map[string][]string{} // by text
	add := func(name, file string) error {
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		text := strings.TrimSpace(strings.ReplaceAll(string(data), "\r\n", "\n"))
		if !slices.Contains(covers[text], name) {
			covers[text] = append(covers[text], name)
		}
		return nil
	}
	root, err := run("", "env", "GOROOT")
	if err != nil {
		return "", err
	}
	if err := add("Go standard library: LICENSE", filepath.Join(root, "LICENSE")); err != nil {
		return "", err
	}
	for _, system := range systems {
		list, err := run(system, append([]string{"list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}}\t{{.Version}}\t{{.Dir}}\t{{$.Dir}}{{end}}{{end}}"}, commands...)...)
		if err != nil {
			return "", err
		}
		for line := range strings.Lines(list) {
			f := strings.Split(strings.TrimSpace(line), "\t")
			if len(f) != 4 || f[0] == "github.com/yardmaster/yardmaster" {
				continue
			}
			found := 0
			for dir := f[3]; ; dir = filepath.Dir(dir) { // a package may have a licence of its own
				entries, err := os.ReadDir(dir)
				if err != nil {
					return "", err
				}
				for _, e := range entries {
					if e.IsDir() || !legal.MatchString(e.Name()) || strings.HasSuffix(e.Name(), ".go") {
						continue
					}
					found++
					inside, _ := filepath.Rel(f[2], filepath.Join(dir, e.Name()))
					if err := add(fmt.Sprintf("%s %s: %s", f[0], f[1], filepath.ToSlash(inside)), filepath.Join(dir, e.Name())); err != nil {
						return "", err
					}
				}
				if dir == f[2] || len(dir) <= len(f[2]) {
					break
				}
			}
			if found == 0 {
				return "", fmt.Errorf("%s has no licence file: find out how it may be used", f[0])
			}
		}
	}
	var parts []string
	for text, names := range covers {
		slices.Sort(names)
		parts = append(parts, strings.Join(names, "\n")+"\n\n"+text+"\n")
	}
	slices.Sort(parts)
	line := "\n" + strings.Repeat("-", 80) + "\n"
	return head + line + strings.Join(parts, line), nil
}

// run returns the output of the go command for a system.
func run(system string, args ...string) (string, error) {
	cmd := exec.Command("go", args...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if system != "" {
		cmd.Env = append(cmd.Env, "GOOS="+system)
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go %s: %w: %s", args[0], err, stderr.String())
	}
	return strings.TrimSpace(string(out)), nil
}
