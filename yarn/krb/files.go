package krb

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/jcmturner/gokrb5/v8/credentials"
	"github.com/jcmturner/gokrb5/v8/keytab"
)

func loadKeytab(path string) (kt *keytab.Keytab, err error) {
	defer caught(&err, "keytab "+path)
	data, err := readSmall(path)
	if err != nil {
		return nil, fmt.Errorf("read the keytab: %w", err)
	}
	kt = keytab.New()
	if err := kt.Unmarshal(data); err != nil {
		return nil, fmt.Errorf("keytab %s is not one, or is damaged: %v", path, err)
	}
	return kt, nil
}

// loadCache keeps only ticket-granting tickets: a service ticket from the file may be for a key that has been renewed.
func loadCache(path string) (c *credentials.CCache, err error) {
	defer caught(&err, "credential cache "+path)
	data, err := readSmall(path)
	if err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("there is no credential cache %s: run kinit, or give a keytab with --keytab", path)
		}
		return nil, fmt.Errorf("read the credential cache: %w", err)
	}
	c = new(credentials.CCache)
	if err := c.Unmarshal(data); err != nil {
		return nil, fmt.Errorf("credential cache %s is not one, or is damaged: %v", path, err)
	}
	kept := c.Credentials[:0]
	for _, x := range c.Credentials {
		if n := x.Server.PrincipalName.NameString; len(n) == 2 && n[0] == "krbtgt" {
			kept = append(kept, x)
		}
	}
	c.Credentials = kept
	return c, nil
}

// caught turns a panic of the library's parsers into an error: they trust the lengths in a file.
func caught(err *error, what string) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("%s is damaged: %v", what, p)
	}
}

func cachePath(given string) (string, error) {
	given = cmp.Or(given, os.Getenv("KRB5CCNAME"))
	if given == "" {
		return fmt.Sprintf("/tmp/krb5cc_%d", os.Getuid()), nil
	}
	kind, path, ok := strings.Cut(given, ":")
	switch {
	case !ok:
		return given, nil
	case strings.EqualFold(kind, "FILE"):
		return path, nil
	}
	return "", fmt.Errorf("credential cache %s: only files can be read, not %s: run kinit -c FILE:/path and set KRB5CCNAME=FILE:/path, "+
		"or give a keytab with --keytab", given, kind)
}

// maxFile is far beyond any keytab or cache.
const maxFile = 16 << 20

func readSmall(path string) ([]byte, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if st.Size() > maxFile {
		return nil, fmt.Errorf("%s has %d bytes: it is something else", path, st.Size())
	}
	return os.ReadFile(path)
}
