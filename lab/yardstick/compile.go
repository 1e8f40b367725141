package yardstick

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
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
	file := filepath.Join(home, "yardstick", fmt.Sprintf("%s-%x", p.name, sum[:6]))
	err = hadoop.Once(file, func(tmp, into string) error {
		source := filepath.Join(tmp, p.name+".cpp")
		if err := os.WriteFile(source, []byte(p.source), 0o600); err != nil {
			return err
		}
		if out, err := exec.CommandContext(ctx, compiler, append([]string{"-std=c++17", "-O2", "-o", into, source}, p.options...)...).CombinedOutput(); err != nil {
			return fmt.Errorf("%w\n%s", err, out)
		}
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("compiling %s: %w", p.name, err)
	}
	return file, nil
}

// run gives a program its input in a file, and answers what it writes and the seconds of processor time that it took.
func (p program) run(ctx context.Context, args []string, input func(io.Writer) error) (out []byte, took float64, err error) {
	file, err := p.built(ctx)
	if err != nil {
		return nil, 0, err
	}
	in, err := os.CreateTemp("", "yardmaster-flows-")
	if err != nil {
		return nil, 0, fmt.Errorf("writing the input of %s: %w", p.name, err)
	}
	defer func() { _ = os.Remove(in.Name()) }()
	if err := errors.Join(input(in), in.Close()); err != nil {
		return nil, 0, err
	}
	cmd := exec.CommandContext(ctx, file, append([]string{in.Name()}, args...)...)
	var said bytes.Buffer
	cmd.Stderr = &said
	if out, err = cmd.Output(); err != nil {
		return nil, 0, fmt.Errorf("%s: %w\n%s", p.name, err, said.Bytes())
	}
	return out, (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds(), nil
}
