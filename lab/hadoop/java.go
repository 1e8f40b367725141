package hadoop

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// Java is a Java that fits.
type Java struct {
	Home    string // for JAVA_HOME
	Java    string // the java command
	Javac   string // the compiler; empty if there is none
	Version int    // 17, 21, ...
}

// FindJava finds the Java to run a version of Hadoop with: that of JAVA_HOME if it is set, else the one on the PATH.
func FindJava(ctx context.Context, version string) (Java, error) {
	v, ok := versions[version]
	if !ok {
		return Java{}, fmt.Errorf("the lab does not know Hadoop %s; choose one of %s", version, strings.Join(Versions(), ", "))
	}
	want := fmt.Sprintf("Hadoop %s needs Java %d to %d", version, v.minJava, v.maxJava)
	j := Java{Home: os.Getenv("JAVA_HOME")}
	if j.Home != "" {
		j.Java = filepath.Join(j.Home, "bin", "java")
	} else {
		path, err := exec.LookPath("java")
		if err != nil {
			return Java{}, fmt.Errorf("%s, and there is no java on the PATH; install it (Debian: apt install openjdk-17-jdk-headless), "+
				"or set JAVA_HOME", want)
		}
		j.Java = path
		if target, err := filepath.EvalSymlinks(path); err == nil {
			path = target
		}
		j.Home = filepath.Dir(filepath.Dir(path))
	}
	out, err := exec.CommandContext(ctx, j.Java, "-version").CombinedOutput()
	if err != nil {
		if errors.Is(ctx.Err(), context.Canceled) {
			return Java{}, ctx.Err()
		}
		return Java{}, fmt.Errorf("%s; %s -version: %w", want, j.Java, err)
	}
	j.Version = javaVersion(string(out))
	if j.Version < v.minJava || j.Version > v.maxJava {
		return Java{}, fmt.Errorf("%s; %s is version %d; set JAVA_HOME to another", want, j.Java, j.Version)
	}
	javac := filepath.Join(filepath.Dir(j.Java), "javac")
	if _, err := os.Stat(javac); err == nil {
		j.Javac = javac
	} else if os.Getenv("JAVA_HOME") == "" {
		j.Javac, _ = exec.LookPath("javac")
	}
	return j, nil
}

// javaVersion reads the first number of `openjdk version "17.0.15" ...`, and 8 of "1.8.0_392". 0: not understood.
func javaVersion(out string) int {
	_, rest, ok := strings.Cut(out, ` version "`)
	if !ok {
		return 0
	}
	rest, _, _ = strings.Cut(rest, `"`)
	rest = strings.TrimPrefix(rest, "1.")
	i := strings.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' })
	if i >= 0 {
		rest = rest[:i]
	}
	n, err := strconv.Atoi(rest)
	if err != nil {
		return 0
	}
	return n
}

// opened are the packages of Java's own that Hadoop reaches into.
var opened = []string{"java.lang", "java.util", "java.util.concurrent", "java.net", "java.nio", "java.io", "java.lang.reflect",
	"java.text", "sun.nio.ch"}

// Options are the flags of a JVM that suit many small ones on one machine: a heap of at most heapMB, one thread for garbage,
// no costly optimisation, no IPv6, instants in UTC, and the packages opened that Hadoop reaches into.
func (j Java) Options(heapMB int) []string {
	args := []string{"-Xmx" + strconv.Itoa(heapMB) + "m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
		"-Djava.net.preferIPv4Stack=true", "-Duser.timezone=UTC"}
	for _, p := range opened {
		args = append(args, "--add-opens=java.base/"+p+"=ALL-UNNAMED")
	}
	return args
}
