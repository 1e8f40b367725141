package soak

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// Clock is the wall clock of programs made by BuildStepped, which can be stepped. The computer's own clock and monotonic clocks stay as they are.
type Clock struct{ File string } // holds the offset, such as +3600

// ClockVariable names the clock's file to them.
const ClockVariable = "YARDMASTER_SOAK_CLOCK"

// Set sets the offset of the true time in seconds, and tells programs that run.
func (c Clock) Set(offset int, pids ...int) error {
	err := os.WriteFile(c.File, fmt.Appendf(nil, "%+d\n", offset), 0o644)
	for _, pid := range pids {
		err = errors.Join(err, syscall.Kill(pid, syscall.SIGUSR1))
	}
	return err
}

// Step steps the clock of a program by five minutes, back, and the other way.
func (c Clock) Step(n, pid int, works func() error) (text string, err error) {
	offset := []int{300, 0, -300, 0}[n%4]
	return fmt.Sprintf("now %+d s off", offset), errors.Join(c.Set(offset, pid), works())
}

//go:embed step.go.txt
var step string

// BuildStepped builds a main package, found from the working directory, whose wall clock can be stepped: all else is as in a release.
func BuildStepped(ctx context.Context, dir, main string) (path string, err error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-f", "{{.Dir}}", "time", main).Output()
	if err != nil {
		return "", fmt.Errorf("where are time and %s? %w", main, err)
	}
	folders := strings.Fields(string(out))
	source, err := os.ReadFile(filepath.Join(folders[0], "time.go"))
	if err != nil {
		return "", err
	}
	const now, with = "\tsec, nsec, mono := runtimeNow()\n\tif mono == 0 {", "\tsec, nsec, mono := runtimeNow()\n\tsec += Step.Load()\n\tif mono == 0 {"
	if strings.Count(string(source), now) != 1 {
		return "", errors.New("time.Now of this version of Go is another")
	}
	timeGo, mainGo, overlay := filepath.Join(dir, "time.go"), filepath.Join(dir, "step.go"), filepath.Join(dir, "overlay.json")
	text := strings.Replace(strings.Replace(string(source), now, with, 1), "import (", "import (\n\t\"sync/atomic\"", 1) + "\n// Step is added to the wall clock, in seconds.\nvar Step atomic.Int64\n"
	list, err := json.Marshal(map[string]map[string]string{"Replace": {filepath.Join(folders[0], "time.go"): timeGo, filepath.Join(folders[1], "step.go"): mainGo}})
	path = filepath.Join(dir, filepath.Base(main)+"-stepped")
	err = errors.Join(err, os.WriteFile(timeGo, []byte(text), 0o644), os.WriteFile(mainGo, []byte(step), 0o644), os.WriteFile(overlay, list, 0o644))
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-overlay", overlay, "-o", path, main)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building %s: %w\n%s", main, err, out)
	}
	return path, nil
}
