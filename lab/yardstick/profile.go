package yardstick

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/pprof"
)

// profile tells where our time goes on a list, as go tool pprof -top does.
func profile(ctx context.Context, l List) (string, error) {
	dir, err := os.MkdirTemp("", "yardmaster-profile-")
	if err != nil {
		return "", fmt.Errorf("taking a profile: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	name := filepath.Join(dir, "cpu")
	file, err := os.Create(name)
	if err != nil {
		return "", fmt.Errorf("taking a profile: %w", err)
	}
	if err := pprof.StartCPUProfile(file); err != nil {
		return "", fmt.Errorf("taking a profile: %w", err)
	}
	Ours(l)
	pprof.StopCPUProfile()
	if err := file.Close(); err != nil {
		return "", fmt.Errorf("taking a profile: %w", err)
	}
	out, err := exec.CommandContext(ctx, "go", "tool", "pprof", "-top", "-nodecount=20", name).Output()
	if err != nil {
		return "", fmt.Errorf("reading the profile: %w", err)
	}
	return string(out), nil
}
