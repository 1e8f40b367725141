package hadoop

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"time"

	"github.com/yardmaster/yardmaster/internal/yamlfile"
)

// The supported versions. Default has every part; Second is a newer ResourceManager without examples and SLS, which
// are not published for it.
const (
	Default = "3.4.2"
	Second  = "3.5.0"
)

var (
	//go:embed files/pom.xml
	pomText string
	//go:embed files/versions.yaml
	versionsText []byte

	pom      = template.Must(template.New("pom").Parse(pomText))
	versions = *yamlfile.Decode[map[string]struct {
		Java  [2]int
		Parts [][]string
	}](versionsText)
)

// Versions are the versions of Hadoop that Fetch supports.
func Versions() []string {
	return slices.Sorted(maps.Keys(versions))
}

// Home is the lab's cache of what is costly to make: $YARDMASTER_LAB, or yardmaster-lab in the user's cache folder.
func Home() (string, error) {
	if d := os.Getenv("YARDMASTER_LAB"); d != "" {
		return filepath.Abs(d)
	}
	d, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("finding a folder for the lab: %w; set YARDMASTER_LAB", err)
	}
	return filepath.Join(d, "yardmaster-lab"), nil
}

// copyPlugin is pinned, so that the same artefacts are requested everywhere.
const copyPlugin = "org.apache.maven.plugins:maven-dependency-plugin:2.8:copy-dependencies"

// Fetch makes sure that the jars of a version are in Home()/lib-VERSION and returns that folder. The folder is created atomically.
// Maven is run offline first, which takes seconds if its cache is warm; then online,
// which takes minutes. log may be nil.
func Fetch(ctx context.Context, version string, log io.Writer) (string, error) {
	home, err := Home()
	if err != nil {
		return "", err
	}
	lib := filepath.Join(home, "lib-"+version)
	if _, err := os.Stat(lib); err == nil {
		return lib, nil
	}
	if _, err := FindJava(ctx, version); err != nil { // also if the version is unknown
		return "", err
	}
	mvn, err := exec.LookPath("mvn")
	if err != nil {
		return "", fmt.Errorf("fetching Hadoop %s needs Maven, and there is no mvn on the PATH; install it (Debian: apt install maven)",
			version)
	}
	err = Once(lib, func(tmp, into string) error {
		var text bytes.Buffer
		if err := pom.Execute(&text, map[string]any{"Version": version, "Parts": versions[version].Parts}); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(tmp, "pom.xml"), text.Bytes(), 0o644); err != nil {
			return err
		}
		return resolve(ctx, mvn, tmp, into, cmp.Or(log, io.Discard))
	})
	if err != nil {
		return "", fmt.Errorf("fetching Hadoop %s: %w", version, err)
	}
	return lib, nil
}

func resolve(ctx context.Context, mvn, dir, into string, log io.Writer) error {
	began := time.Now()
	run := func(more ...string) (string, error) {
		cmd := exec.CommandContext(ctx, mvn, append(more, "-B", "-q", copyPlugin, "-DoutputDirectory="+into, "-DincludeScope=runtime")...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			_ = os.RemoveAll(into)
		}
		return string(out), err
	}
	if _, err := run("-o"); err == nil {
		fmt.Fprintf(log, "jars copied from Maven's own cache in %.1f s\n", time.Since(began).Seconds())
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	fmt.Fprintf(log, "asking Maven for the jars; this takes some minutes and about 100 MB, once\n")
	out, err := run()
	if err != nil {
		return fmt.Errorf("maven: %w; its last lines:\n%s", err, LastLines(out, 12))
	}
	fmt.Fprintf(log, "jars fetched in %.1f s\n", time.Since(began).Seconds())
	return nil
}

// LastLines is the end of a text.
func LastLines(s string, n int) string {
	lines := strings.Split(strings.TrimRight(s, "\n"), "\n")
	if len(lines) > n {
		lines = lines[len(lines)-n:]
	}
	return strings.Join(lines, "\n")
}

// Java is a suitable Java installation.
type Java struct {
	Home    string // for JAVA_HOME
	Version int    // 17, 21, ...
}

// Command is one of its commands: java, javac.
func (j Java) Command(name string) string { return filepath.Join(j.Home, "bin", name) }

// FindJava finds the Java for a version of Hadoop: that of JAVA_HOME if set, else the one on the PATH.
func FindJava(ctx context.Context, version string) (Java, error) {
	v, ok := versions[version]
	if !ok {
		return Java{}, fmt.Errorf("the lab does not support Hadoop %s; choose one of %s", version, strings.Join(Versions(), ", "))
	}
	want := fmt.Sprintf("Hadoop %s needs Java %d to %d", version, v.Java[0], v.Java[1])
	j := Java{Home: os.Getenv("JAVA_HOME")}
	if j.Home == "" {
		path, err := exec.LookPath("java")
		if err == nil {
			path, err = filepath.EvalSymlinks(path)
		}
		if err != nil {
			return j, fmt.Errorf("%s, and there is no java on the PATH; install it (Debian: apt install openjdk-17-jdk-headless), or set JAVA_HOME", want)
		}
		j.Home = filepath.Dir(filepath.Dir(path))
	}
	java := j.Command("java")
	out, err := exec.CommandContext(ctx, java, "-version").CombinedOutput()
	switch {
	case ctx.Err() != nil:
		return j, ctx.Err()
	case err != nil:
		return j, fmt.Errorf("%s; %s -version: %w", want, java, err)
	}
	if j.Version = javaVersion(string(out)); j.Version < v.Java[0] || j.Version > v.Java[1] {
		return j, fmt.Errorf("%s; %s is version %d; set JAVA_HOME to another", want, java, j.Version)
	}
	return j, nil
}

// javaVersion reads the first number of `openjdk version "17.0.15" ...`, and 8 of "1.8.0_392". 0: not understood.
func javaVersion(out string) (n int) {
	if f := javaVersions.FindStringSubmatch(out); f != nil {
		n, _ = strconv.Atoi(f[1])
	}
	return n
}

var javaVersions = regexp.MustCompile(` version "(?:1\.)?(\d+)`)

// opened are the JDK packages that Hadoop reflects into.
var opened = []string{"java.lang", "java.util", "java.util.concurrent", "java.net", "java.nio", "java.io", "java.lang.reflect",
	"java.text", "sun.nio.ch"}

// Options are the flags of a JVM that suit many small ones on one machine: a heap of at most heapMB, one garbage-collector thread,
// no costly optimisation, no IPv6, UTC, and access to the JDK packages that Hadoop reflects into.
func (j Java) Options(heapMB int) []string {
	args := []string{"-Xmx" + strconv.Itoa(heapMB) + "m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
		"-Djava.net.preferIPv4Stack=true", "-Duser.timezone=UTC"}
	for _, p := range opened {
		args = append(args, "--add-opens=java.base/"+p+"=ALL-UNNAMED")
	}
	return args
}

//go:embed files/java/*.java
var sources embed.FS

// Classes compiles the Java sources below root of a file system against the jars of a version and returns the folder of the
// classes. It is cached in Home by the content of the sources.
func Classes(ctx context.Context, version string, source fs.FS, root string) (string, error) {
	lib, err := Fetch(ctx, version, nil)
	if err != nil {
		return "", err
	}
	return ClassesOn(ctx, version, filepath.Join(lib, "*"), source, root)
}

// ClassesOn compiles against another classpath, with a Java for that version of Hadoop.
func ClassesOn(ctx context.Context, version, classpath string, source fs.FS, root string) (string, error) {
	home, err := Home()
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
	dir := filepath.Join(home, "classes-"+version+"-"+hex.EncodeToString(sum.Sum(nil))[:12])
	err = Once(dir, func(tmp, into string) error {
		if _, err := os.Stat(java.Command("javac")); err != nil {
			return fmt.Errorf("there is no javac beside %s; install a JDK (Debian: apt install openjdk-17-jdk-headless), or set JAVA_HOME", java.Command("java"))
		}
		args := []string{"-nowarn", "-proc:none", "-J-XX:TieredStopAtLevel=1", "-cp", classpath, "-d", into}
		for name, text := range texts {
			file := filepath.Join(tmp, name)
			if err := os.WriteFile(file, text, 0o644); err != nil {
				return err
			}
			args = append(args, file)
		}
		if out, err := exec.CommandContext(ctx, java.Command("javac"), args...).CombinedOutput(); err != nil {
			return fmt.Errorf("%w:\n%s", err, LastLines(string(out), 20))
		}
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("compiling the lab's Java: %w", err)
	}
	return dir, nil
}

// Once makes a file or folder that is costly to make, unless it exists. Creation is atomic: build gets a temporary folder
// to work in and writes its result to into, which is then renamed to path.
func Once(path string, build func(tmp, into string) error) error {
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
	if err := build(tmp, into); err != nil {
		return err
	}
	err = os.Rename(into, path)
	if _, there := os.Stat(path); there == nil { // another process may have been faster
		return nil
	}
	return err
}
