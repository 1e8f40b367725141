package krb

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/jcmturner/gokrb5/v8/config"
)

const maxIncludes = 100

// loadConfig reads a krb5.conf. The library does not follow include and includedir, which every distribution's file
// has, so loadConfig does.
func loadConfig(path string) (c *config.Config, err error) {
	defer caught(&err, path)
	var b strings.Builder
	left := maxIncludes
	if err := include(&b, path, &left); err != nil {
		return nil, err
	}
	c, err = config.NewFromString(b.String())
	var unsupported config.UnsupportedDirective
	if err != nil && !errors.As(err, &unsupported) {
		return nil, fmt.Errorf("%s: %v", path, err)
	}
	return c, nil
}

func include(b *strings.Builder, path string, left *int) error {
	if *left--; *left < 0 {
		return fmt.Errorf("%s: more than %d files are included; does one include itself?", path, maxIncludes)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read the Kerberos configuration (--krb5-conf): %w", err)
	}
	for line := range strings.Lines(string(data)) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		rest = strings.TrimSpace(rest)
		switch word {
		case "include":
			if err := include(b, rest, left); err != nil {
				return err
			}
		case "includedir":
			entries, err := os.ReadDir(rest)
			if err != nil {
				continue // MIT's library ignores it, too
			}
			for _, e := range entries {
				if !e.IsDir() && included(e.Name()) {
					if err := include(b, filepath.Join(rest, e.Name()), left); err != nil {
						return err
					}
				}
			}
		default:
			b.WriteString(strings.TrimRight(line, "\r\n") + "\n")
		}
	}
	return nil
}

// included is MIT's rule for the names in an includedir.
func included(name string) bool {
	if strings.HasPrefix(name, ".") {
		return false
	}
	if strings.HasSuffix(name, ".conf") {
		return true
	}
	return strings.IndexFunc(name, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_')
	}) < 0
}
