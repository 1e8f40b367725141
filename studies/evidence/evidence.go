// Package evidence stores the measurements of studies. Records are append-only: a rerun gets the next number beside what
// it repeats, or is appended to it. Each study's folder has a ledger, one line per run, with the program's version, the computer's load
// and the record's checksum, so that a replaced record is detected.
package evidence

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"time"

	"github.com/yardmaster/yardmaster/internal/build"
	"github.com/yardmaster/yardmaster/result"
	"github.com/yardmaster/yardmaster/studies/lab/host"
)

// Ledger is the file that lists a folder's runs.
const Ledger = "ledger.jsonl"

// Run is one run of a study: a line of the ledger.
type Run struct {
	File    string    `json:"file"`           // the record, relative to the study's folder; a folder if it is several files
	From    int64     `json:"from,omitempty"` // first byte of a record that was appended
	Size    int64     `json:"size"`
	SHA256  string    `json:"sha256"`
	At      time.Time `json:"at,omitzero"`       // when it began
	Program string    `json:"program,omitempty"` // its version; "": not recorded
	Commit  string    `json:"commit,omitempty"`  // that added the record, where the version was not recorded
	Load    []float64 `json:"load,omitempty"`    // one-minute load average at the start and when the record was stored; none: not recorded
}

// Begin starts a run of a program, named as by Program.
func Begin(program string) *Run {
	return &Run{At: time.Now().UTC().Truncate(time.Second), Program: program, Load: []float64{host.LoadAverage(host.OneMinute)}}
}

// Keep stores a record as the next one of its series: SERIES-N.EXT with the first free number.
func (r Run) Keep(dir, series, ext string, record []byte) (Run, error) {
	return r.next(dir, series, ext, func(path string) error {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
		if err != nil {
			return err
		}
		_, err = f.Write(record)
		return errors.Join(err, f.Close())
	})
}

// KeepJSON stores a value as compressed JSON in SERIES-N.json.gz. ReadSeries reads it.
func (r Run) KeepJSON(dir, series string, v any) (Run, error) {
	b, err := Packed(v)
	if err != nil {
		return r, err
	}
	return r.Keep(dir, series, packed, b)
}

// KeepTree copies a folder as the next one of its series: SERIES-N.
func (r Run) KeepTree(dir, series, from string) (Run, error) {
	return r.next(dir, series, "", func(path string) error {
		if err := os.Mkdir(path, 0o755); err != nil {
			return err
		}
		return os.CopyFS(path, os.DirFS(from))
	})
}

// next calls create with the first free number and adds the run to the ledger.
func (r Run) next(dir, series, ext string, create func(path string) error) (Run, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return r, err
	}
	for n := 1; ; n++ {
		r.File = series + "-" + strconv.Itoa(n) + ext
		err := create(filepath.Join(dir, r.File))
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return r, fmt.Errorf("keeping a record: %w", err)
		}
		if r.Size, r.SHA256, err = digest(filepath.Join(dir, r.File), 0, -1); err != nil {
			return r, err
		}
		return r, r.enter(dir)
	}
}

// Append adds a record to the end of a file.
func (r Run) Append(dir, file string, record []byte) (Run, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return r, err
	}
	from, err := add(filepath.Join(dir, file), record)
	if err != nil {
		return r, fmt.Errorf("keeping a record: %w", err)
	}
	sum := sha256.Sum256(record)
	r.File, r.From, r.Size, r.SHA256 = file, from, int64(len(record)), hex.EncodeToString(sum[:])
	return r, r.enter(dir)
}

// enter adds the run to the ledger.
func (r *Run) enter(dir string) error {
	if len(r.Load) == 1 {
		r.Load = append(slices.Clip(r.Load), host.LoadAverage(host.OneMinute))
	}
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	_, err = add(filepath.Join(dir, Ledger), append(line, '\n'))
	return err
}

// add appends to a file and returns the offset.
func add(file string, b []byte) (from int64, err error) {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return 0, err
	}
	info, err := f.Stat()
	if err == nil {
		from = info.Size()
		_, err = f.Write(b)
	}
	return from, errors.Join(err, f.Close())
}

// Runs are all runs of a folder's ledger, in its order; none where there is no ledger.
func Runs(dir string) ([]Run, error) {
	b, err := os.ReadFile(filepath.Join(dir, Ledger))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var runs []Run
	for d := json.NewDecoder(bytes.NewReader(b)); d.More(); {
		var r Run
		if err := d.Decode(&r); err != nil {
			return nil, fmt.Errorf("%s, run %d: %w", filepath.Join(dir, Ledger), len(runs)+1, err)
		}
		runs = append(runs, r)
	}
	return runs, nil
}

// Series are the runs stored as SERIES-N.EXT, by number. A record that was modified is an error.
func Series(dir, series, ext string) ([]Run, error) {
	all, err := Runs(dir)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(r Run) bool { return r.number(series, ext) == 0 })
	slices.SortFunc(all, func(a, b Run) int { return a.number(series, ext) - b.number(series, ext) })
	for i := range all {
		if err := all[i].check(dir); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// check verifies the record's checksum.
func (r *Run) check(dir string) error {
	path := filepath.Join(dir, r.File)
	size, sum, err := digest(path, r.From, r.Size)
	if err == nil && (size != r.Size || sum != r.SHA256) {
		err = fmt.Errorf("%s is not the record that was stored: restore it; records are append-only, a rerun is stored beside them", path)
	}
	return err
}

// number is a run's number in its series; 0: it belongs to another.
func (r *Run) number(series, ext string) int {
	if n := r.Number(); r.File == series+"-"+strconv.Itoa(n)+ext {
		return n
	}
	return 0
}

// Number is the last number of a record's name: 2 of kills-2.jsonl.
func (r *Run) Number() int {
	name, _, _ := strings.Cut(r.File, ".")
	n, _ := strconv.Atoi(name[strings.LastIndex(name, "-")+1:]) // 0: it has none
	return n
}

// lost are commits that some records name and the history has not: those of branches, which Program refuses now, and those of 17 to
// 19 November 2026, whose changes came to the main branch as few commits after their own had been lost.
var lost = []string{
	"297b831", "3dbd4ce", "4312022", "4a6cacd", "6aa1c2a", "9a8e6aec3a03", "ac6a70dae4aa", "d920660605db", "eae3aa5d1bbb", "edac6d0",
	"7682c10f9250", "7a677f987a82", "7f00a2a0d205", "96aee90a62b2", "972a882b62d1", "b7ca24f0e2d0", "b871d6bee624", "bdaf5bf2bcd4", "d2f34b0a4a10",
	"de88ed40dc35", "ee005a1a0010",
	"d16807fb6ded", "233d6ca463f0", "ac5548270f30", "fe1be67f09d3", "66fa8418d548", "8c54a5ff1623", "b9f51b1d15f9", "101d6ff7ab05", "10905b04d13d",
	"86d44c650735", "2ab9a72f7d93", "38be447f4a8d", "cd03aeca0f87", "7f50384cc598", "51d523098018", "cfe317204910", "c2bce1cff335",
}

var unchanged = regexp.MustCompile(`, commit ([0-9a-f]{7,40})$`)

// commit is that of the program, or of the record where the program's is unknown; "": unknown, or with changes that no commit has.
func (r *Run) commit() string {
	if m := unchanged.FindStringSubmatch(r.Program); m != nil {
		return m[1]
	}
	return r.Commit
}

// ProgramText is the program's version for a page.
func (r *Run) ProgramText() string {
	text := "unknown"
	switch {
	case r.Program != "":
		text = r.Program
	case r.Commit != "":
		text = "unknown (record of commit " + r.Commit + ")"
	}
	if slices.Contains(lost, r.commit()) {
		text += " (not in the history)"
	}
	return text
}

// LoadText is the computer's load for a page.
func (r *Run) LoadText() string {
	if len(r.Load) == 0 {
		return "unknown"
	}
	words := make([]string, len(r.Load))
	for i, v := range r.Load {
		words[i] = strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strings.Join(words, ", ")
}

// digest is the length and the checksum of a part of a file, to its end if size is negative; for a folder, of its files with their names.
func digest(path string, from, size int64) (int64, string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, "", err
	}
	if !info.IsDir() {
		b, err := os.ReadFile(path)
		if err != nil {
			return 0, "", err
		}
		b = b[min(from, int64(len(b))):]
		if size >= 0 {
			b = b[:min(size, int64(len(b)))]
		}
		sum := sha256.Sum256(b)
		return int64(len(b)), hex.EncodeToString(sum[:]), nil
	}
	h := sha256.New()
	total := int64(0)
	err = filepath.WalkDir(path, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		n, sum, err := digest(file, 0, -1)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(path, file)
		total += n
		fmt.Fprintf(h, "%s %s\n", sum, filepath.ToSlash(rel))
		return err
	})
	return total, hex.EncodeToString(h.Sum(nil)), err
}

// List decodes a JSON list into exactly the given parts, in order.
func List(b []byte, parts ...any) error {
	n := len(parts)
	if err := json.Unmarshal(b, &parts); err != nil {
		return err
	}
	if len(parts) != n {
		return fmt.Errorf("%s does not have %d parts", b, n)
	}
	return nil
}

// packed is the extension of compressed JSON.
const packed = ".json.gz"

// Packed is a value as compressed JSON.
func Packed(v any) ([]byte, error) {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(json.NewEncoder(z).Encode(v), z.Close()); err != nil {
		return nil, fmt.Errorf("writing a record: %w", err)
	}
	return b.Bytes(), nil
}

// Read reads a JSON record, compressed or not.
func Read(file string, into any) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	var in io.Reader = f
	if strings.HasSuffix(file, ".gz") {
		in, err = gzip.NewReader(f)
	}
	if err == nil {
		err = json.NewDecoder(in).Decode(into)
	}
	if err != nil {
		return fmt.Errorf("reading %s: %w", file, err)
	}
	return nil
}

// ReadSeries reads every record of a series that KeepJSON wrote, with its run.
func ReadSeries[R any](dir, series string) (runs []Run, records []*R, err error) {
	return ReadRecords[R](dir, series, packed)
}

// ReadRecords reads every record of a series of JSON files, with its run.
func ReadRecords[R any](dir, series, ext string) (runs []Run, records []*R, err error) {
	if runs, err = Series(dir, series, ext); err != nil {
		return nil, nil, err
	}
	for i := range runs {
		rec := new(R)
		if err := Read(filepath.Join(dir, runs[i].File), rec); err != nil {
			return nil, nil, err
		}
		records = append(records, rec)
	}
	return runs, records, nil
}

// Program names the program in a file, or the one built from the working tree ("") for records in dir. Where dir is in a repository, its records are
// to be repeated: a program whose commit is not in the history there, or that has changes besides, is refused.
func Program(dir, file string) (string, error) {
	program := here()
	if file != "" {
		b, err := buildinfo.ReadFile(file)
		if err != nil {
			return "", fmt.Errorf("which program is that? %w", err)
		}
		program = named(build.From(b))
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	if !git(dir, "rev-parse", "HEAD") {
		return program, nil
	}
	r := Run{Program: program}
	if commit := r.commit(); commit == "" || !git(dir, "merge-base", "--is-ancestor", commit, "HEAD") {
		return "", fmt.Errorf("%s is not in the history of %s, so nobody could repeat its records: "+
			"commit the changes and build it again, or store the records outside the repository", program, dir)
	}
	return program, nil
}

// git reports whether a command succeeds in dir.
func git(dir string, args ...string) bool {
	return exec.Command("git", append([]string{"-C", dir}, args...)...).Run() == nil
}

// here names the program built from the working tree: by this binary's build stamp, or by Git where there is none, as with go run.
func here() string {
	if i := build.Read(); i.Revision != "" {
		return named(i)
	}
	revision, err := exec.Command("git", "rev-parse", "HEAD").Output()
	if err != nil {
		return "devel, commit unknown"
	}
	changed, err := exec.Command("git", "status", "--porcelain", "--", ":/", ":(top,exclude)docs").Output()
	return named(build.Info{Version: "devel", Revision: strings.TrimSpace(string(revision)), Modified: err != nil || len(changed) > 0})
}

func named(i build.Info) string {
	if i.Revision == "" {
		return i.Version + ", commit unknown"
	}
	s := i.Version + ", commit " + i.Revision[:min(len(i.Revision), 12)]
	if i.Modified {
		s += " with changes"
	}
	return s
}

// Page executes a study's template and writes the page to file unless that is "". own adds to the functions that all pages share.
func Page(text, file string, data any, own template.FuncMap) (string, error) {
	funcs := template.FuncMap{
		"percent": func(share float64) string { return fmt.Sprintf("%.1f %%", 100*share) }, "join": strings.Join, "inc": func(i int) int { return i + 1 },
		"signed": func(share float64) string { return fmt.Sprintf("%+.1f %%", 100*share) }, "times": func(a, b float64) float64 { return a * b }, "over": func(a, b float64) float64 { return a / b },
		"quantile": func(v []float64, p float64) float64 { return result.Quantile(v, p) },
	}
	maps.Copy(funcs, own)
	t, err := template.New("page").Funcs(funcs).Parse(text)
	if err != nil {
		return "", err
	}
	var b bytes.Buffer
	if err := t.Execute(&b, data); err != nil {
		return "", err
	}
	if file != "" {
		if err = os.MkdirAll(filepath.Dir(file), 0o755); err == nil {
			err = os.WriteFile(file, b.Bytes(), 0o644)
		}
	}
	if err != nil {
		return "", fmt.Errorf("writing the report: %w", err)
	}
	return b.String(), nil
}
