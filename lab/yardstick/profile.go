package yardstick

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime/pprof"
)

// profile tells where our time goes on a list, as go tool pprof -top does.
func profile(ctx context.Context, l List) (string, error) {
	file, err := os.CreateTemp("", "yardmaster-profile-")
	if err != nil {
		return "", fmt.Errorf("taking a profile: %w", err)
	}
	defer func() { _ = os.Remove(file.Name()) }()
	if err := pprof.StartCPUProfile(file); err != nil {
		return "", fmt.Errorf("taking a profile: %w", err)
	}
	Ours(l)
	pprof.StopCPUProfile()
	if err := file.Close(); err != nil {
		return "", fmt.Errorf("taking a profile: %w", err)
	}
	out, err := exec.CommandContext(ctx, "go", "tool", "pprof", "-top", "-nodecount=20", file.Name()).Output()
	if err != nil {
		return "", fmt.Errorf("reading the profile: %w", err)
	}
	return string(out), nil
}
