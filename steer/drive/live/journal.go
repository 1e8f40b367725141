package live

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/yardmaster/yardmaster/internal/securefile"
	"github.com/yardmaster/yardmaster/steer/drive"
)

// A journal's folder holds the journal, its predecessor, a lock file, and copies of torn or damaged files.
const (
	journalFile = "journal.jsonl"
	formerFile  = "journal.1.jsonl"
	tornFile    = "journal.torn.jsonl"       // the last line, torn by a crash
	damagedFile = "journal.damaged.%s.jsonl" // copies of damaged journals; while there is one, the damage is unresolved
	lockFile    = "lock"
	largest     = 1 << 30 // a larger file is not a journal
)

// DiskJournal is a journal in a folder. Every line is on disk before the call that wrote it returns.
//
// The file is JSON Lines, each line with a checksum of itself; it can be read with less and jq. A last line torn by a crash is dropped: what it
// announced was not done yet. Any other unreadable line is damage: there may be a change that is no longer on record. The damaged file is copied
// aside before anything is rewritten, and Damage reports it until a person has removed the copy. When the file has grown too large, a new one is
// started with the open knobs, and the old one is kept beside it.
type DiskJournal struct {
	*drive.Journal
	dir    string
	lock   *os.File
	file   disk
	wrap   func(disk) disk // for tests
	size   int64           // of the complete lines
	limit  int64           // a new file is started beyond this size
	damage error
	broken error // the file can no longer be trusted
}

// disk is the part of os.File that the journal needs.
type disk interface {
	Write(b []byte) (int, error)
	Sync() error
	Truncate(size int64) error
	Close() error
}

// OpenJournal opens the journal of a folder, creating it if necessary, and locks it until Close. If another process holds it, the error is a
// *HeldError.
func OpenJournal(dir string) (*DiskJournal, error) {
	return openJournal(dir, func(d disk) disk { return d })
}

func newJournal(dir string, wrap func(disk) disk) *DiskJournal {
	j := &DiskJournal{Journal: &drive.Journal{Name: dir, Mark: MarkOf(dir)}, dir: dir, wrap: wrap, limit: 4 << 20}
	j.Store = j.store
	return j
}

func openJournal(dir string, wrap func(disk) disk) (_ *DiskJournal, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	if err := securefile.CheckDir(dir); err != nil { // whoever can write there can make us write anything to the scheduler
		return nil, fmt.Errorf("journal: %w", err)
	}
	j := newJournal(dir, wrap)
	if j.lock, err = takeLock(dir); err != nil {
		return nil, err
	}
	if err := j.load(); err != nil {
		_ = j.Close() // the first error is the one to report
		return nil, fmt.Errorf("journal: %w", err)
	}
	return j, nil
}

// load reads the file, truncates what a crash left behind and prepares to append.
func (j *DiskJournal) load() error {
	p, err := readFile(j.path(journalFile))
	if err != nil {
		return err
	}
	f, err := securefile.Open(j.path(journalFile), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	j.file = j.wrap(f)
	for _, name := range glob(j.dir, ".journal*.tmp") { // left by a crash while a new file was started
		_ = os.Remove(name) // harmless
	}
	for i := range p.entries {
		j.Load(&p.entries[i])
	}
	j.size = p.good
	switch {
	case p.damage != nil:
		if err := j.renew(j.asideName()); err != nil { // keep a copy before truncating
			return fmt.Errorf("%w; it cannot be kept aside, so it is left as it is: %w", p.damage, err)
		}
	case len(p.torn) > 0:
		if err := securefile.WriteFile(j.path(tornFile), p.torn, 0o600); err != nil {
			return err
		}
		if err := j.file.Truncate(p.good); err != nil {
			return err
		}
	}
	j.damage = damageOf(j.dir, p.damage)
	return errors.Join(j.file.Sync(), securefile.SyncDir(j.dir))
}

// asideName is the name for the copy of a damaged journal: one that is free, or already holds this copy.
func (j *DiskJournal) asideName() string {
	data, _ := securefile.ReadFile(j.path(journalFile), largest) // read a moment ago
	for n := 1; ; n++ {
		name := fmt.Sprintf(damagedFile, strconv.Itoa(n))
		kept, err := securefile.ReadFile(j.path(name), largest)
		if errors.Is(err, fs.ErrNotExist) || err == nil && bytes.Equal(kept, data) {
			return name
		}
	}
}

// damageOf adds the copies kept aside to the damage: they count until a person removes them.
func damageOf(dir string, found *DamagedError) error {
	aside := glob(dir, fmt.Sprintf(damagedFile, "*"))
	if found == nil && len(aside) == 0 {
		return nil
	}
	if found == nil {
		found = &DamagedError{File: filepath.Join(dir, journalFile)}
	}
	found.Aside = aside
	return found
}

// glob lists the files of a folder that match.
func glob(dir, pattern string) []string {
	names, _ := fs.Glob(os.DirFS(dir), pattern) // a folder that cannot be read has failed before
	for i := range names {
		names[i] = filepath.Join(dir, names[i])
	}
	return names
}

func (j *DiskJournal) path(name string) string { return filepath.Join(j.dir, name) }

// Dir is the journal's folder.
func (j *DiskJournal) Dir() string { return j.dir }

// MarkOf identifies the journal from which a value is restored. The mark must come back from the scheduler as it was written, or it would be taken for
// another driver's: so it has no blanks, which might be trimmed, no variables, and only ASCII.
func MarkOf(folder string) string {
	host, _ := os.Hostname() // empty is fine
	dir, err := filepath.Abs(folder)
	if err != nil {
		dir = folder
	}
	plain := func(r rune) rune {
		if r <= ' ' || r > '~' || r == '$' {
			return '?'
		}
		return r
	}
	text := strings.Map(plain, host+":"+dir)
	return text[:min(len(text), longestMark)]
}

const longestMark = 128

// Damage is a *DamagedError if lines of the journal could not be read, now or earlier: the open knobs may be incomplete.
func (j *DiskJournal) Damage() error { return j.damage }

// Close releases the journal. Open knobs stay open.
func (j *DiskJournal) Close() error {
	var err error
	if j.file != nil {
		err = j.file.Close()
	}
	return errors.Join(err, dropLock(j.lock))
}

// store appends one line and syncs it to disk.
func (j *DiskJournal) store(line []byte) error {
	if j.broken != nil {
		return j.broken
	}
	if j.size > j.limit {
		if err := j.renew(formerFile); j.broken != nil {
			return j.broken
		} else if err != nil {
			j.limit *= 2 // the old file still works
		}
	}
	if _, err := j.file.Write(line); err != nil {
		if cut := j.file.Truncate(j.size); cut != nil {
			j.broken = fmt.Errorf("journal %s cannot be written any more: %w", j.dir, err)
		}
		return fmt.Errorf("journal: %w", err)
	}
	if err := j.file.Sync(); err != nil { // what is on disk is now unknown
		j.broken = fmt.Errorf("journal %s cannot be relied on any more: %w", j.dir, err)
		return j.broken
	}
	j.size += int64(len(line))
	return nil
}

// renew starts a new file with the open knobs and keeps the old one under another name. The journal exists at every moment.
func (j *DiskJournal) renew(former string) error {
	var lines []byte
	for _, h := range j.Open() {
		line, err := h.Line()
		if err != nil {
			return err
		}
		lines = append(lines, line...)
	}
	old, err := securefile.ReadFile(j.path(journalFile), largest)
	if err != nil {
		return err
	}
	if err := securefile.WriteFile(j.path(former), old, 0o600); err != nil {
		return err
	}
	err = securefile.WriteFile(j.path(journalFile), lines, 0o600)
	if err != nil && !errors.Is(err, securefile.ErrNotDurable) {
		return err
	}
	f, failed := securefile.Open(j.path(journalFile), os.O_WRONLY|os.O_APPEND, 0)
	if err = errors.Join(err, failed); err != nil {
		j.broken = fmt.Errorf("journal %s cannot be relied on any more: %w", j.dir, err)
		return j.broken
	}
	_ = j.file.Close() // all of it is on disk
	j.file, j.size = j.wrap(f), int64(len(lines))
	return nil
}

// ViewJournal is the journal of a folder whose owner is stuck but still holds the lock. Open knobs can be restored with it, but
// not closed.
func ViewJournal(dir string) (*DiskJournal, error) {
	_, open, err := ReadJournal(dir)
	var damaged *DamagedError
	if err != nil && !errors.As(err, &damaged) {
		return nil, err
	}
	j := newJournal(dir, nil)
	j.damage, j.broken = err, fmt.Errorf("journal %s: another process has it still", dir)
	for i := range open {
		j.Load(&open[i])
	}
	return j, nil
}

// ReadJournal reads the journal of a folder without locking it: all its entries, and the open knobs with all that is known
// of each. With a *DamagedError the readable rest is returned.
func ReadJournal(dir string) (entries, open []drive.Entry, err error) {
	var p pages
	if err = securefile.CheckDir(dir); err == nil {
		p, err = readFile(filepath.Join(dir, journalFile))
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("journal: %w", err)
	}
	var l drive.Ledger
	for i := range p.entries {
		l.Add(&p.entries[i])
	}
	return p.entries, l.Entries(), damageOf(dir, p.damage)
}

// pages is the content of a journal's file.
type pages struct {
	entries []drive.Entry
	good    int64  // bytes up to the end of the last complete line
	torn    []byte // the last line, torn by a crash
	damage  *DamagedError
}

func readFile(path string) (p pages, err error) {
	data, err := securefile.ReadFile(path, largest)
	if errors.Is(err, fs.ErrNotExist) {
		return p, nil
	}
	if err != nil {
		return p, err
	}
	return parsePages(path, data), nil
}

// parsePages parses lines. An unreadable line is damage, unless it is what a crash leaves of the last one.
func parsePages(path string, data []byte) (p pages) {
	for number, rest := 1, data; len(rest) > 0; number++ {
		line, after, whole := bytes.Cut(rest, []byte("\n"))
		rest = after
		if !whole && drive.IsTorn(line) {
			p.torn = line
			break
		}
		e, err := drive.ParseEntry(line)
		if err == nil && !whole {
			err = errors.New("its end is missing")
		}
		if err != nil {
			if p.damage == nil {
				p.damage = &DamagedError{File: path, Err: err}
			}
			p.damage.Lines = append(p.damage.Lines, number)
			continue
		}
		p.entries = append(p.entries, e)
		p.good = int64(len(data) - len(after))
	}
	return p
}

// HeldError says that another process holds the journal.
type HeldError struct {
	Dir   string    `json:"-"`
	PID   int       `json:"pid"` // 0: unknown
	Host  string    `json:"host"`
	Since time.Time `json:"since"`
}

func (e *HeldError) Error() string {
	who := "another process"
	if e.PID > 0 {
		who = fmt.Sprintf("process %d on %s since %s", e.PID, e.Host, e.Since.Format(time.RFC3339))
	}
	return fmt.Sprintf("journal %s is held by %s: only one may steer; end it, or give another queue a journal of its own", e.Dir, who)
}

// DamagedError says that lines of a journal are unreadable, now or when it was opened earlier. The other lines hold, but there may be
// changes that are no longer on record.
type DamagedError struct {
	File  string
	Lines []int    // none: all damage was found earlier
	Err   error    // of the first
	Aside []string // copies of damaged journals
}

func (e *DamagedError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "the journal %s is damaged", e.File)
	if len(e.Lines) > 0 {
		fmt.Fprintf(&b, ": line %d cannot be read: %v (%d in all)", e.Lines[0], e.Err, len(e.Lines))
	}
	b.WriteString("; a change may have been made that is not known any more. ")
	look := e.File
	if len(e.Aside) > 0 {
		look = strings.Join(e.Aside, " and ")
		fmt.Fprintf(&b, "It is kept in %s. ", look)
	}
	fmt.Fprintf(&b, "Compare the scheduler's setting with what %s still shows, correct it by hand if need be, and then remove %[1]s: nothing is steered before that", look)
	return b.String()
}

func (e *DamagedError) Unwrap() error { return e.Err }
