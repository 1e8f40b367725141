package history

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/yardmaster/yardmaster/internal/flock"
	"github.com/yardmaster/yardmaster/internal/securefile"
	"github.com/yardmaster/yardmaster/workload"
	"github.com/yardmaster/yardmaster/workload/jobfile"
)

// store keeps jobs in parts on disk. A part is a workload file with times since 1970, sorted by submission, whose one note is the
// tally of its jobs. Parts are written atomically.
type store struct {
	dir   string
	made  []string // newly made folders, outermost first
	state state
	lock  io.Closer

	mu    sync.Mutex
	known map[key]struct{}
	parts []string
	next  int
	tasks int64

	pending workload.Slice // the next part
	tally   tally
	weight  int64
	begun   time.Time
}

// state is what is stored besides the parts.
type state struct {
	Version int    `json:"version"`
	From    int64  `json:"covered_from_ms"`  // every available application that finished from here
	Until   int64  `json:"covered_until_ms"` // to here is in the parts
	Salt    string `json:"salt,omitempty"`
	Named   bool   `json:"anonymised"`
	Begun   bool   `json:"begun"`

	Files map[string]string `json:"files,omitempty"` // files written beside the workload: name to SHA-256
}

// cover records that a period was imported. If there is a gap to the recorded one, the newer is recorded, and what the
// other covered is scanned again when requested.
func (s *state) cover(since, until time.Time) {
	from, to := int64(0), until.UnixMilli()
	if !since.IsZero() {
		from = since.UnixMilli()
	}
	if s.Until > 0 && from <= s.Until && to >= s.From {
		from, to = min(from, s.From), max(to, s.Until)
	}
	s.From, s.Until = from, to
}

const (
	partJobs   = 500
	partWeight = 1 << 20 // listed lengths, edges and hosts
	partTime   = 2 * time.Second
)

// openStore reads what earlier calls have left, and locks the folder.
func openStore(dir string) (*store, error) {
	made, err := makeFolders(dir)
	if err != nil {
		return nil, fmt.Errorf("cannot write into %s (%w): name another folder with -o", filepath.Dir(dir), err)
	}
	l, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("cannot write into %s (%w): it is another user's, perhaps: name another folder with -o", filepath.Dir(dir), err)
	}
	if err := flock.Try(l); err != nil && !errors.Is(err, errors.ErrUnsupported) { // unsupported: concurrent imports are not excluded
		_ = l.Close() // nothing was written
		if errors.Is(err, flock.ErrHeld) {
			return nil, fmt.Errorf("another import is writing into %s: wait for its end", filepath.Dir(dir))
		}
		return nil, fmt.Errorf("cannot lock %s: %w", filepath.Dir(dir), err)
	}
	s := &store{dir: dir, made: made, lock: l, known: map[key]struct{}{}}
	if err := s.load(); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *store) load() error {
	data, err := os.ReadFile(s.path("state.json"))
	switch {
	case errors.Is(err, os.ErrNotExist):
	case err != nil:
		return err
	default:
		if err := json.Unmarshal(data, &s.state); err != nil || s.state.Version != 1 {
			return fmt.Errorf("%s is not of this version of the program, or damaged: remove the folder %s to import afresh", s.path("state.json"), s.dir)
		}
	}
	s.state.Version = 1
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := e.Name()
		if strings.HasSuffix(name, ".tmp") {
			if err := os.Remove(s.path(name)); err != nil { // of a killed call
				return err
			}
			continue
		}
		if strings.HasPrefix(name, "part-") && strings.HasSuffix(name, ".parquet") {
			s.parts = append(s.parts, name)
		}
	}
	// From the newest: a part all of whose jobs are in newer ones was merged into one of them by a call that was killed before it
	// could remove it.
	slices.Sort(s.parts)
	for i := len(s.parts) - 1; i >= 0; i-- {
		fresh, err := s.loadPart(s.parts[i])
		if err != nil {
			return fmt.Errorf("%w: remove the folder %s to import afresh", err, s.dir)
		}
		if !fresh {
			if err := os.Remove(s.path(s.parts[i])); err != nil {
				return err
			}
			s.parts = slices.Delete(s.parts, i, i+1)
		}
	}
	if n := len(s.parts); n > 0 {
		if _, err := fmt.Sscanf(s.parts[n-1], "part-%d.parquet", &s.next); err != nil {
			return fmt.Errorf("%s is not a part of an import: remove the folder %s to import afresh", s.path(s.parts[n-1]), s.dir)
		}
		s.next++
	}
	return nil
}

// loadPart reads which jobs a part holds, and reports whether any of them is new.
func (s *store) loadPart(name string) (fresh bool, err error) {
	r, err := jobfile.Open(s.path(name))
	if err != nil {
		return false, err
	}
	defer func() { _ = r.Close() }() // read-only
	var tasks int64
	for {
		j, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return false, err
		}
		k, ok := parseKey(j.ID)
		if !ok {
			return false, fmt.Errorf("%s is not a part of an import", s.path(name))
		}
		if _, there := s.known[k]; !there {
			fresh = true
			s.known[k] = struct{}{}
		}
		tasks += j.Tasks()
	}
	if _, ok := readTally(r); !ok {
		return false, fmt.Errorf("%s is not a part of an import", s.path(name))
	}
	if fresh {
		s.tasks += tasks
	}
	return fresh, nil
}

func (s *store) path(name string) string { return filepath.Join(s.dir, name) }

// close releases the lock. A store without a job is removed, with the folders made for it.
func (s *store) close() {
	if len(s.made) > 0 && s.count() == 0 {
		_ = os.Remove(s.path("state.json"))
		_ = os.Remove(s.path("lock")) // while we hold it: nobody else can
		for _, dir := range slices.Backward(s.made) {
			_ = os.Remove(dir) // one that is not empty stays
		}
	}
	_ = s.lock.Close()
}

// makeFolders makes a folder and its parents, and returns the new ones.
func makeFolders(dir string) (made []string, err error) {
	for d := filepath.Clean(dir); ; d = filepath.Dir(d) {
		if _, err := os.Lstat(d); err == nil || d == filepath.Dir(d) {
			break
		}
		made = append(made, d)
	}
	slices.Reverse(made)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		for _, d := range slices.Backward(made) {
			_ = os.Remove(d)
		}
		return nil, err
	}
	return made, nil
}

// names makes the salt, or takes the one of earlier calls.
func (s *store) names(o *Options) (*names, error) {
	if s.state.Begun && s.state.Named != o.Anonymise {
		return nil, fmt.Errorf("the folder %s holds an import %s: import into another folder, or remove %s", filepath.Dir(s.dir),
			map[bool]string{true: "with --anonymise", false: "without --anonymise"}[s.state.Named], s.dir)
	}
	if !o.Anonymise {
		s.state.Begun = true
		return &names{}, s.writeState()
	}
	switch {
	case s.state.Salt != "" && o.Salt != "" && s.state.Salt != o.Salt:
		return nil, fmt.Errorf("the folder %s holds an import with another --salt: names would not agree", filepath.Dir(s.dir))
	case o.Salt != "":
		s.state.Salt = o.Salt
	case s.state.Salt == "":
		b := make([]byte, 16)
		if _, err := rand.Read(b); err != nil {
			return nil, err
		}
		s.state.Salt = hex.EncodeToString(b)
	}
	s.state.Named, s.state.Begun = true, true
	return &names{salt: []byte(s.state.Salt)}, s.writeState()
}

func (s *store) writeState() error {
	data, err := json.MarshalIndent(&s.state, "", "  ")
	if err != nil {
		return err
	}
	return replace(s.path("state.json"), 0o600, func(w io.Writer) error {
		_, err := w.Write(append(data, '\n'))
		return err
	})
}

// has reports whether a job is known.
func (s *store) has(k key) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.known[k]
	return ok
}

func (s *store) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.known)
}

// add adds a job and its tally, and writes a part when it is large enough. It reports whether the job is new.
func (s *store) add(j *workload.Job, t *tally) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if j != nil {
		k, ok := parseKey(j.ID)
		if !ok {
			return false, fmt.Errorf("%q is not the id of a job", j.ID)
		}
		if _, there := s.known[k]; there {
			return false, nil
		}
		s.known[k] = struct{}{}
		if len(s.pending) == 0 {
			s.begun = time.Now()
		}
		s.pending = append(s.pending, j)
		for i := range j.Stages {
			s.weight += int64(len(j.Stages[i].Length.Values) + 3*len(j.Stages[i].After))
			if h := j.Stages[i].Hosts; h != nil {
				s.weight += 2 * int64(len(h.Of))
			}
		}
	}
	s.tally.add(t)
	if len(s.pending) >= partJobs || s.weight >= partWeight || len(s.pending) > 0 && time.Since(s.begun) > partTime {
		return j != nil, s.flushLocked()
	}
	return j != nil, nil
}

func (s *store) flush() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.flushLocked()
}

func (s *store) flushLocked() error {
	if len(s.pending) == 0 {
		return nil // counts without jobs come with the next part
	}
	slices.SortFunc(s.pending, bySubmit)
	err := s.writePart(func(write func(*workload.Job) error) error {
		for _, j := range s.pending {
			if err := write(j); err != nil {
				return err
			}
		}
		return nil
	}, &s.tally)
	if err != nil {
		return err
	}
	for _, j := range s.pending {
		s.tasks += j.Tasks()
	}
	s.pending, s.tally, s.weight = nil, tally{}, 0
	return nil
}

// writePart adds a part with the jobs that each produces.
func (s *store) writePart(each func(write func(*workload.Job) error) error, t *tally) error {
	name := fmt.Sprintf("part-%06d.parquet", s.next)
	err := replace(s.path(name), 0o644, func(f io.Writer) error {
		w := jobfile.NewWriter(f, jobfile.NewMeta("", "part of an import", nil))
		if err := each(w.Write); err != nil {
			return err
		}
		w.SetNotes([]workload.Note{{Text: t.text()}})
		return w.Close()
	})
	if err == nil {
		s.parts = append(s.parts, name)
		s.next++
	}
	return err
}

func bySubmit(a, b *workload.Job) int {
	return cmp.Or(cmp.Compare(a.Submit, b.Submit), cmp.Compare(a.ID, b.ID))
}

// replace writes a file atomically, and syncs it to disk before it gets its name.
func replace(path string, mode os.FileMode, write func(io.Writer) error) error {
	securefile.RemoveLeftovers(path) // of a killed import: the lock excludes others
	f, err := securefile.Create(path, mode)
	if err != nil {
		return err
	}
	defer f.Discard()
	if err := write(f); err != nil {
		return err
	}
	return f.Commit()
}
