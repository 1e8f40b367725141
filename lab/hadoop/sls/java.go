package sls

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/yardmaster/yardmaster/lab/hadoop"
)

//go:embed java/*.java
var sources embed.FS

// compile makes sure that our classes are compiled and answers their folder. It is named after the sources, so that an old
// one is never taken for them.
func compile(ctx context.Context, java hadoop.Java, lib string) (string, error) {
	if java.Javac == "" {
		return "", fmt.Errorf("sls: there is no javac beside %s; install a JDK (Debian: apt install openjdk-17-jdk-headless)", java.Java)
	}
	files, err := sources.ReadDir("java")
	if err != nil {
		return "", err
	}
	h := sha256.New()
	text := map[string][]byte{}
	for _, f := range files {
		b, err := sources.ReadFile("java/" + f.Name())
		if err != nil {
			return "", err
		}
		text[f.Name()] = b
		fmt.Fprintf(h, "%s %d\n%s", f.Name(), len(b), b)
	}
	home, err := hadoop.Home()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(home, fmt.Sprintf("sls-java%d-%s", java.Version, hex.EncodeToString(h.Sum(nil))[:12]))
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	if err := os.MkdirAll(home, 0o755); err != nil {
		return "", err
	}
	tmp, err := os.MkdirTemp(home, "sls-compile-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(tmp) }() // what stays is temporary
	args := []string{"-nowarn", "-Xlint:none", "-cp", filepath.Join(lib, "*"), "-d", filepath.Join(tmp, "classes")}
	for name, b := range text {
		path := filepath.Join(tmp, name)
		if err := os.WriteFile(path, b, 0o644); err != nil {
			return "", err
		}
		args = append(args, path)
	}
	if out, err := exec.CommandContext(ctx, java.Javac, args...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("sls: compiling: %w\n%s", err, out)
	}
	if err := os.Rename(filepath.Join(tmp, "classes"), dir); err != nil {
		if _, there := os.Stat(dir); there != nil { // another run was faster otherwise
			return "", err
		}
	}
	return dir, nil
}
