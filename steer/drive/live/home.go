package live

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/yardmaster/yardmaster/internal/securefile"
)

// StateDir is the folder of this account's journals.
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

const longestName = 200

// ArgsFile holds, beside the journal, the flags for restoring from it.
const ArgsFile = "restore.json"

type argsDocument struct {
	Args []string `json:"args"`
}

// WriteArgs writes ArgsFile.
func WriteArgs(dir string, args []string) error {
	text, err := json.Marshal(argsDocument{args})
	if err != nil {
		return err
	}
	return securefile.WriteFile(filepath.Join(dir, ArgsFile), append(text, '\n'), 0o600)
}

// ReadArgs reads ArgsFile; nothing if it does not exist. It may name a command, so nobody else may have written it.
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
	var d argsDocument
	if err == nil {
		err = json.Unmarshal(text, &d)
	}
	if err != nil {
		return nil, fmt.Errorf("how to restore is not known from %s: %w", path, err)
	}
	return d.Args, nil
}
