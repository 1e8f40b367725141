package hadoop

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
)

//go:embed files/java/*.java
var sources embed.FS

// Classes compiles the Java sources below root of a file system against the jars of a version and answers the folder of the
// classes. It is kept in Home by the sources' content, so that they are compiled once.
func Classes(ctx context.Context, version string, source fs.FS, root string) (string, error) {
	lib, err := Fetch(ctx, version, nil)
	if err != nil {
		return "", err
	}
	java, err := FindJava(ctx, version)
	if err != nil {
		return "", err
	}
	names, err := fs.Glob(source, path.Join(root, "*.java"))
	if err != nil || len(names) == 0 {
		return "", fmt.Errorf("compiling the lab's Java: no sources in %s", root)
	}
	sum := sha256.New()
	fmt.Fprintf(sum, "Java %d\n", java.Version)
	texts := make(map[string][]byte, len(names))
	for _, n := range names { // Glob sorts them
		b, err := fs.ReadFile(source, n)
		if err != nil {
			return "", fmt.Errorf("compiling the lab's Java: %w", err)
		}
		texts[path.Base(n)] = b
		fmt.Fprintf(sum, "%s %d\n%s", path.Base(n), len(b), b)
	}
	dir := filepath.Join(filepath.Dir(lib), "classes-"+version+"-"+hex.EncodeToString(sum.Sum(nil))[:12])
	err = Once(dir, func(tmp, into string) error {
		if java.Javac == "" {
			return fmt.Errorf("there is no javac beside %s; install a JDK (Debian: apt install openjdk-17-jdk-headless), or set JAVA_HOME", java.Java)
		}
		args := []string{"-nowarn", "-proc:none", "-J-XX:TieredStopAtLevel=1", "-cp", filepath.Join(lib, "*"), "-d", into}
		for name, text := range texts {
			file := filepath.Join(tmp, name)
			if err := os.WriteFile(file, text, 0o644); err != nil {
				return err
			}
			args = append(args, file)
		}
		if out, err := exec.CommandContext(ctx, java.Javac, args...).CombinedOutput(); err != nil {
			return fmt.Errorf("%w:\n%s", err, lastLines(string(out), 20))
		}
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("compiling the lab's Java: %w", err)
	}
	return dir, nil
}

// Once makes a file or folder that is costly to make, unless it is there. It is there as a whole or not at all: make has a temporary folder
// to work in and puts what it makes at into, which then goes to its place.
func Once(path string, make func(tmp, into string) error) error {
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	tmp, err := os.MkdirTemp(filepath.Dir(path), "make-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(tmp) }()
	into := filepath.Join(tmp, "made")
	if err := make(tmp, into); err != nil {
		return err
	}
	err = os.Rename(into, path)
	if _, there := os.Stat(path); there == nil { // somebody else may have been faster
		return nil
	}
	return err
}

// own compiles the lab's own classes.
func (c *Cluster) own(ctx context.Context) (string, error) {
	return Classes(ctx, c.Version, sources, "files/java")
}
