package yardstick

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/yardmaster/yardmaster/lab/hadoop"
)

// ErrMissing says that a compiler or a library is not on this computer; the error's text says what to install.
var ErrMissing = errors.New("it is not installed")

// program is C++ that is compiled on first use.
type program struct {
	name, source string
	header       string // that tells whether the library is there
	packages     string // of Debian
	options      []string
}

// built compiles the program into the lab's folder unless it is there, and answers its file.
func (p program) built(ctx context.Context) (string, error) {
	home, err := hadoop.Home()
	if err != nil {
		return "", err
	}
	missing := func() error {
		return fmt.Errorf("%s: %w: install it with apt-get install %s", p.name, ErrMissing, p.packages)
	}
	compiler, err := exec.LookPath("g++")
	if err != nil {
		return "", missing()
	}
	look := exec.CommandContext(ctx, compiler, "-E", "-x", "c++", "-o", os.DevNull, "-")
	look.Stdin = strings.NewReader("#include <" + p.header + ">\n")
	if look.Run() != nil {
		return "", errors.Join(missing(), ctx.Err())
	}
	sum := sha256.Sum256([]byte(p.source + strings.Join(p.options, " ")))
	dir := filepath.Join(home, "yardstick")
	file := filepath.Join(dir, fmt.Sprintf("%s-%x", p.name, sum[:6]))
	if _, err := os.Stat(file); err == nil {
		return file, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("making a folder for %s: %w", p.name, err)
	}
	work, err := os.MkdirTemp(dir, "build-") // beside the file, so that it is there as a whole or not at all
	if err != nil {
		return "", fmt.Errorf("making a folder for %s: %w", p.name, err)
	}
	defer func() { _ = os.RemoveAll(work) }()
	source, out := filepath.Join(work, p.name+".cpp"), filepath.Join(work, p.name)
	if err := os.WriteFile(source, []byte(p.source), 0o600); err != nil {
		return "", fmt.Errorf("compiling %s: %w", p.name, err)
	}
	cmd := exec.CommandContext(ctx, compiler, append([]string{"-std=c++17", "-O2", "-o", out, source}, p.options...)...)
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("compiling %s: %w\n%s", p.name, err, said.Bytes())
	}
	if err := os.Rename(out, file); err != nil {
		return "", fmt.Errorf("compiling %s: %w", p.name, err)
	}
	return file, nil
}

// run gives a program lists of flows and answers what it writes.
func (p program) run(ctx context.Context, args []string, lists ...List) ([]byte, error) {
	file, err := p.built(ctx)
	if err != nil {
		return nil, err
	}
	in, err := os.CreateTemp("", "yardmaster-flows-")
	if err != nil {
		return nil, fmt.Errorf("writing lists for %s: %w", p.name, err)
	}
	defer func() { _ = os.Remove(in.Name()) }()
	if err := errors.Join(Write(in, lists...), in.Close()); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, file, append([]string{in.Name()}, args...)...)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", p.name, err, said.Bytes())
	}
	return out.Bytes(), nil
}
