// Package docs_test runs what the pages say.
package docs_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/unit"
	"github.com/yardmaster/yardmaster/workload/jobfile"
	"github.com/yardmaster/yardmaster/workload/synth"
)

// A fenced block of a page. A block of language sh holds commands, which are run as typed; a diff is applied; a block of another language
// with a file name behind it ("```yaml scenario.yaml") is that file; the rest is output.
type block struct {
	section    string
	line       int
	lang, file string
	text       string
}

func blocks(t *testing.T, page string) []block {
	t.Helper()
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var all []block
	var open *block
	section := ""
	for i, line := range strings.Split(string(data), "\n") {
		info, fence := strings.CutPrefix(line, "```")
		switch {
		case fence && open == nil:
			lang, file, _ := strings.Cut(info, " ")
			open = &block{section: section, line: i + 1, lang: lang, file: file}
		case fence:
			all, open = append(all, *open), nil
		case open != nil:
			open.text += line + "\n"
		case strings.HasPrefix(line, "## "):
			section = line[3:]
		}
	}
	if open != nil {
		t.Fatalf("%s:%d: the block does not end", page, open.line)
	}
	return all
}

// pages are all pages, relative to the root of the checkout.
func pages(t *testing.T) []string {
	t.Helper()
	names := []string{"README.md", "CONTRIBUTING.md"}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".md") {
			names = append(names, filepath.Join("docs", path))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// A command outside a block of language sh would never be run.
func TestCommandsAreMarked(t *testing.T) {
	command := regexp.MustCompile(`(?m)^(\$ )?([A-Z_]+=\S+ )*(\./)?(yardmaster|go|git|make|scripts/\S+) `)
	for _, page := range pages(t) {
		for _, b := range blocks(t, filepath.Join("..", page)) {
			if b.lang != "sh" && command.MatchString(b.text) {
				t.Errorf("%s:%d: a block with commands needs the language sh:\n%s", page, b.line, b.text)
			}
		}
	}
}

// Every command of every page works as typed. What a reader brings along (a trace, the files of a scheduler, an imported cluster) lies in
// the folder where they are typed. A command that is followed by "# exits N" ends with that code. TestLabCommands and TestLabSweep have the pages that
// speak to a cluster of Hadoop, and the module kube (smoke) those that speak to Kubernetes.
func TestCommands(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the command several times and runs for minutes")
	}
	r := newReader(t)
	for _, page := range pages(t) {
		script := r.script(t, page)
		if script.text == "" || script.live || strings.Contains(script.text, "kubectl apply") {
			continue
		}
		t.Run(strings.ReplaceAll(page, "/", "-"), func(t *testing.T) {
			t.Parallel()
			r.run(t, r.folder(t, script), script.text)
		})
	}
}

// script is a page as somebody types it.
type script struct {
	text     string
	live     bool // speaks to a cluster
	checkout bool // is typed in a checkout
}

// folder is where a page is typed: a checkout, or an empty folder.
func (r *reader) folder(t *testing.T, s script) string {
	t.Helper()
	dir := t.TempDir()
	if s.checkout {
		must(t, dir, "git", "clone", "-q", r.repo, ".")
	}
	return dir
}

// script is a page, or the sections of it that are not left out.
func (r *reader) script(t *testing.T, page string, without ...string) script {
	t.Helper()
	var text strings.Builder
	var s script
	for _, b := range blocks(t, filepath.Join("..", page)) {
		switch {
		case slices.Contains(without, b.section):
		case b.lang == "sh":
			s.live = s.live || strings.Contains(b.text, "http://rm:") || strings.Contains(b.text, "yarn restore")
			s.checkout = s.checkout || strings.Contains(b.text, "go build ./") || strings.Contains(b.text, "go run ./") || strings.Contains(b.text, "make ")
			text.WriteString(commands(b.text))
		case b.lang == "diff": // somebody may have followed the page already
			fmt.Fprintf(&text, "cat >page.diff <<'END_OF_FILE'\n%sEND_OF_FILE\ngit apply -R --check page.diff 2>/dev/null || git apply page.diff || exit 99\n", b.text)
		case b.file != "":
			fmt.Fprintf(&text, "mkdir -p '%s'; cat >'%s' <<'END_OF_FILE'\n%sEND_OF_FILE\n", filepath.Dir(b.file), b.file, b.text)
		}
	}
	s.text = text.String()
	s.checkout = s.checkout && !strings.Contains(s.text, "git clone") // makes one for itself
	return s
}

// commands turns what stands in a block into a script that says what it runs, and ends when a command's exit code is not the one announced.
func commands(text string) string {
	var s strings.Builder
	text = strings.ReplaceAll(text, "\\\n", " ")
	for line := range strings.Lines(text) {
		command := strings.TrimSpace(line)
		if command == "" || strings.HasPrefix(command, "#") {
			continue
		}
		if rest, ok := strings.CutPrefix(command, "make"); ok { // what CI runs anyway: that the target exists is enough
			command = "make -n" + rest
		}
		if strings.Contains(command, "# takes ") || strings.Contains(command, "; takes ") {
			if strings.HasPrefix(command, "yardmaster bench ") {
				command = strings.Replace(command, "#", "--rounds 1 --max-tasks 100000 #", 1)
			} else { // a study of minutes, which its tests play with one seed
				command = strings.Replace(studied.FindString(command), "reproduce", "reproduce list", 1)
			}
		}
		want := "0"
		if _, code, ok := strings.Cut(command, "# exits "); ok {
			want = code[:1]
		}
		fmt.Fprintf(&s, "printf '%%s\\n' %s >&2\n%s\n_code=$?; [ $_code = %s ] || { echo \"exit code $_code, want %s\"; exit 99; }\n",
			quote("+ "+command), command, want, want)
	}
	return s.String()
}

var studied = regexp.MustCompile(`^go run \./studies reproduce \w+`)

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// reader is somebody who follows the pages: a snapshot of this checkout to clone from, the command, and what readers bring along.
type reader struct {
	repo, bin, brings string
	env               []string
}

const published = "https://github.com/yardmaster/yardmaster"

func newReader(t *testing.T) *reader {
	t.Helper()
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	r := &reader{repo: filepath.Join(dir, "repo"), bin: filepath.Join(dir, "bin"), brings: filepath.Join(dir, "brings")}
	must(t, root, "sh", "-c", `mkdir -p "$1" && git ls-files -co --exclude-standard -z | tar -c --null --ignore-failed-read -T - | tar -x -C "$1"`, "sh", r.repo)
	must(t, r.repo, "sh", "-c", "git init -q && git add -A && git -c user.name=docs -c user.email=docs@localhost commit -q -m snapshot")
	// Clones and go install take the snapshot in place of what is published; modules come from this machine's cache where they are there.
	cache := strings.TrimSpace(must(t, root, "go", "env", "GOMODCACHE"))
	proxy := strings.TrimSpace(must(t, root, "go", "env", "GOPROXY"))
	r.env = append(os.Environ(), "PATH="+r.bin+":"+os.Getenv("PATH"), "CGO_ENABLED=0", "NO_COLOR=1",
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=url."+r.repo+".insteadOf", "GIT_CONFIG_VALUE_0="+published, "GIT_ALLOW_PROTOCOL=file:https",
		"GOPRIVATE=github.com/yardmaster", "GOPROXY=file://"+filepath.Join(cache, "cache", "download")+","+proxy, "GONOSUMDB=*", "GOFLAGS=-trimpath -buildvcs=false -modcacherw",
		"GOBIN="+r.bin, "GOMODCACHE="+filepath.Join(dir, "modules"))
	must(t, root, "go", "build", "-trimpath", "-o", filepath.Join(r.bin, "yardmaster"), "./cmd/yardmaster")
	stub := "#!/bin/sh\n[ -s \"$1\" ]\n"                                                        // there is no browser: the file is there to be opened
	if err := os.WriteFile(filepath.Join(r.bin, "xdg-open"), []byte(stub), 0o755); err != nil { //nolint:gosec // a command
		t.Fatal(err)
	}
	shows := "#!/bin/sh\ngunzip -c " + quote(filepath.Join(r.repo, "workload/kube/testdata/cluster.json.gz")) + "\n" // there is no cluster, but what one showed
	if err := os.WriteFile(filepath.Join(r.bin, "kubectl"), []byte(shows), 0o755); err != nil {                      //nolint:gosec // a command
		t.Fatal(err)
	}
	r.pack(t, root)
	return r
}

// pack puts into one folder what the pages presume that a reader has.
func (r *reader) pack(t *testing.T, root string) {
	t.Helper()
	read := func(name string) []byte {
		data, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	files := map[string][]byte{
		"FB-2010_samples_24_times_1hr_0.tsv": swimDay(),
		"job-trace.json.gz":                  zipped(t, read("workload/rumen/testdata/jobs.json")),
		"19-jobs.trace.json.gz":              zipped(t, read("workload/rumen/testdata/jobs.json")),
		"19-jobs.topology.json.gz":           zipped(t, read("workload/rumen/testdata/topology.json")),
		"job_events/a.csv.gz":                zipped(t, read("workload/google/testdata/job_events-a.csv")),
		"task_events/a.csv.gz":               zipped(t, read("workload/google/testdata/task_events.csv")),
		"spark-logs/README":                  []byte("event logs of Spark\n"),
		"anything.json":                      read("workload/sls/testdata/jobs.json"),
		"sacct.txt":                          read("docs/examples/sacct.txt"),
		"history.parquet":                    read("docs/examples/history.parquet"),
		"spark-logs/report.log":              read("workload/spark/testdata/report.log"),
		"scenario.yaml":                      []byte("workload: jobs.parquet\ncluster: 40x8/4\nscheduler: [fifo, fair]\n"),
	}
	for _, name := range []string{"capacity-scheduler.xml", "capacity-now.xml", "capacity-new.xml"} {
		files[name] = read("docs/examples/capacity-scheduler.xml")
	}
	files["yarn-site.xml"] = read("docs/studies/mapreduce/run-1/import-a/yarn-site.xml")
	for name, data := range files {
		path := filepath.Join(r.brings, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	must(t, r.brings, filepath.Join(r.bin, "yardmaster"), "import", "swim", "FB-2010_samples_24_times_1hr_0.tsv", "-o", "jobs.parquet")
	if err := os.CopyFS(filepath.Join(r.brings, "mycluster"), os.DirFS(filepath.Join(root, "docs", "examples", "mycluster"))); err != nil {
		t.Fatal(err)
	}
	writeDay(t, filepath.Join(r.brings, "mycluster", "jobs.parquet"))
}

// writeDay writes the first day of synth:week: enough to see that the commands of the pages work.
func writeDay(t *testing.T, file string) {
	t.Helper()
	config, err := synth.Preset("week")
	if err != nil {
		t.Fatal(err)
	}
	config.Seed = 1
	src, err := synth.New(config)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	w := jobfile.NewWriter(f, jobfile.NewMeta("yardmaster", "a made-up day", nil))
	for {
		j, err := src.Next()
		if err != nil {
			t.Fatal(err)
		}
		if j.Submit >= unit.Day {
			break
		}
		if err := w.Write(j); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
}

// run types a script in a folder, with what the reader brings along lying there and in whatever checkout it makes. The shell may be
// started by another command.
func (r *reader) run(t *testing.T, dir, script string, by ...string) {
	t.Helper()
	if err := os.CopyFS(dir, os.DirFS(r.brings)); err != nil {
		t.Fatal(err)
	}
	script = "cd() { command cd \"$@\" && cp -rn " + quote(r.brings+"/.") + " .; }\n" + script
	args := append(by, "bash", "-o", "pipefail", "-c", script) //nolint:gocritic // by is nobody else's
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	cmd.Dir, cmd.Env = dir, r.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, tail(out))
	}
}

func tail(out []byte) string {
	lines := strings.Split(string(out), "\n")
	return strings.Join(lines[max(0, len(lines)-40):], "\n")
}

func must(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s%s", name, strings.Join(args, " "), err, out, stderr.String())
	}
	return string(out)
}

// swimDay is an hour of 100 jobs in the form of a SWIM trace.
func swimDay() []byte {
	var b bytes.Buffer
	r, at := rand.New(rand.NewPCG(1, 1)), 0
	for i := range 100 {
		gap := r.IntN(72)
		at += gap
		in := int64(1) << (20 + r.IntN(12))
		fmt.Fprintf(&b, "job%d\t%d\t%d\t%d\t%d\t%d\n", i, at, gap, in, in/4*int64(r.IntN(2)), in/8)
	}
	return b.Bytes()
}

func zipped(t *testing.T, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
