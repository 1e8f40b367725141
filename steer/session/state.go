package session

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/yardmaster/yardmaster/internal/securefile"
	"github.com/yardmaster/yardmaster/steer/drive"
	"github.com/yardmaster/yardmaster/steer/drive/live"
)

// StateDir is where journals are by default.
func StateDir() (string, error) {
	base := os.Getenv("XDG_STATE_HOME")
	if base == "" || !filepath.IsAbs(base) {
		home, err := os.UserHomeDir()
		if err != nil || home == "" {
			return "", errors.New("there is no home folder to keep the journal in: name one with --journal DIR")
		}
		base = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(base, "yardmaster", "steer"), nil
}

// JournalDir is the folder of the journal of a scheduler; given: as the user named it, or "".
func JournalDir(given, identity string) (string, error) {
	if given != "" {
		return filepath.Abs(given)
	}
	base, err := StateDir()
	return filepath.Join(base, FileName(identity)), err
}

// JournalDirs are the folders of the journals to restore from; given: as the user named it, or "".
func JournalDirs(given string) (dirs []string, err error) {
	if given != "" {
		dir, err := filepath.Abs(given)
		if err != nil {
			return nil, err
		}
		if st, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) || err == nil && !st.IsDir() {
			return nil, fmt.Errorf("there is no journal in %s", given)
		}
		return []string{dir}, nil
	}
	base, err := StateDir()
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(base)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	for _, e := range entries {
		if e.IsDir() {
			dirs = append(dirs, filepath.Join(base, e.Name()))
		}
	}
	if len(dirs) == 0 { // which does not mean that nothing was changed
		who := "this account"
		if u, err := user.Current(); err == nil {
			who = "account " + u.Username
		}
		return nil, fmt.Errorf("%s has no journal in %s: run this as the account that steered, or name the folder with --journal DIR", who, base)
	}
	return dirs, nil
}

const longestName = 200

// FileName makes a name valid on any file system; different names stay different. A long one ends in a hash.
func FileName(name string) string {
	var b strings.Builder
	for _, c := range []byte(name) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '.' && b.Len() > 0, c == '-':
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "_%02x", c)
		}
	}
	if b.Len() > longestName {
		return fmt.Sprintf("%s-%x", b.String()[:longestName/2], sha256.Sum256([]byte(name)))
	}
	return b.String()
}

// ArgsFile holds, beside the journal, the flags for restoring from it.
const ArgsFile = "restore.json"

type restoreArgs struct {
	Args []string `json:"args"`
}

func noteArgs(dir string, args []string) error {
	text, err := json.Marshal(restoreArgs{args})
	if err == nil {
		err = securefile.WriteFile(filepath.Join(dir, ArgsFile), append(text, '\n'), 0o600)
	}
	if err != nil {
		return fmt.Errorf("cannot write into the journal's folder %s: %w", dir, securefile.Cause(err))
	}
	return nil
}

// ReadArgs reads the flags for restoring from a journal; none if they were not noted. They may name a command, so nobody else may have written them.
func ReadArgs(dir string) ([]string, error) {
	path := filepath.Join(dir, ArgsFile)
	err := securefile.CheckDir(dir)
	var text []byte
	if err == nil {
		text, err = securefile.ReadFile(path, 1<<20)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var a restoreArgs
	if err == nil {
		err = json.Unmarshal(text, &a)
	}
	if err != nil {
		return nil, fmt.Errorf("how to restore is not known from %s: %w", path, err)
	}
	return a.Args, nil
}

var hashed = regexp.MustCompile(`^[0-9]+-[0-9a-f]{64}$`)

// cluster is the identity of a scheduler without its queues.
func cluster(identity string) string { return identity[:strings.LastIndexByte(identity, '/')+1] }

// QueuesOf are the queues of the steerer that made an entry; nil: they are too many for an identity.
func QueuesOf(e *drive.Entry) []string {
	names := strings.TrimPrefix(e.Engine, cluster(e.Engine))
	if hashed.MatchString(names) {
		return nil
	}
	return strings.Split(names, ",")
}

// LeftElsewhere fails if another journal, beside this one or at the default location, may have a knob of a queue open: a steerer of several queues
// may have left it, and the value found now would be taken for the original.
func (p *Program) LeftElsewhere(own string, identities []string) error {
	base, _ := StateDir() // without one there is no other journal
	others, _ := filepath.Glob(filepath.Join(base, "*"))
	if dir := filepath.Dir(own); dir != base {
		beside, _ := filepath.Glob(filepath.Join(dir, "*"))
		others = append(others, beside...)
	}
	for _, dir := range others {
		if dir == own {
			continue
		}
		_, open, err := live.ReadJournal(dir) // not ours to judge if it is damaged or somebody else's, but what it has open counts
		open = slices.DeleteFunc(open, func(e drive.Entry) bool { return e.Stands() })
		for i := range open {
			names, scheduler := QueuesOf(&open[i]), cluster(open[i].Engine)
			shared := slices.ContainsFunc(append(names, open[i].Knob.Queue), func(q string) bool { return slices.Contains(identities, scheduler+q) })
			if shared || names == nil && scheduler == cluster(identities[0]) {
				return fmt.Errorf("%v: what a steerer left changed is in another journal: restore it first with %s", open[i].Knob, p.byHand(dir))
			}
		}
		if damage, ok := errors.AsType[*live.DamagedError](err); ok && filepath.Dir(dir) == base {
			return damage
		}
	}
	return nil
}
