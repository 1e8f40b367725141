package all

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/yardmaster/yardmaster/internal/suggest"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/capacity"
	"github.com/yardmaster/yardmaster/policy/capacity1"
	"github.com/yardmaster/yardmaster/policy/fair"
	"github.com/yardmaster/yardmaster/yarn/conf"
)

// Load loads a scheduler as typed: a name with parameters (fifo, fair:by=user) or the path of a capacity-scheduler.xml (YARN's or
// Hadoop 1's, distinguished by their settings) or fair-scheduler.xml. A file is read once, here; each call of fresh builds a new policy
// for one run and is safe for concurrent use. title names the scheduler in tables: what was typed, or the file's name.
func Load(spec string) (fresh func() (policy.Policy, error), title string, err error) {
	spec = strings.TrimSpace(spec)
	if IsFile(spec) {
		fresh, err = loadFile(spec)
		if err != nil {
			return nil, "", err
		}
		return fresh, filepath.Base(spec), nil
	}
	s, err := policy.ParseSpec(spec)
	if err != nil {
		return nil, "", err
	}
	if _, known := Policies.Find(s.Name); !known {
		return nil, "", unknown(s.Name)
	}
	fresh = func() (policy.Policy, error) { return Policies.New(s) }
	if _, err := fresh(); err != nil { // so that a wrong parameter fails now and not in the middle of a comparison
		return nil, "", err
	}
	return fresh, spec, nil
}

// IsFile says whether a scheduler as typed is the path of a file.
func IsFile(spec string) bool {
	if _, known := Policies.Find(spec); known {
		return false
	}
	if strings.EqualFold(filepath.Ext(spec), ".xml") {
		return true
	}
	st, err := os.Stat(spec)
	return err == nil && st.Mode().IsRegular()
}

func unknown(name string) error {
	there := "there are " + strings.Join(Policies.Names(), ", ") + " and files that end in .xml"
	if meant, ok := suggest.Closest(name, Policies.Names()); ok {
		return fmt.Errorf("no scheduler is named %s: did you mean %s? (%s)", name, meant, there)
	}
	return fmt.Errorf("no scheduler is named %s: %s", name, there)
}

func loadFile(path string) (func() (policy.Policy, error), error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("scheduler file %s does not exist", path)
	}
	if err != nil {
		return nil, fmt.Errorf("open scheduler file: %w", err)
	}
	defer f.Close()
	start := make([]byte, 64<<10)
	n, err := io.ReadFull(f, start)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, fmt.Errorf("read scheduler file %s: %w", path, err)
	}
	whole := io.MultiReader(bytes.NewReader(start[:n]), f)
	switch conf.Detect(start[:n]) {
	case conf.FairFile:
		c, err := conf.ReadFair(whole, path)
		if err != nil {
			return nil, err
		}
		return func() (policy.Policy, error) { return fair.FromConf(c) }, nil
	case conf.Capacity1File:
		c, err := conf.ReadCapacity1(whole, path)
		if err != nil {
			return nil, err
		}
		return checked(path, func() (policy.Policy, error) { return capacity1.FromConf(c) })
	}
	// Everything else is parsed as a capacity-scheduler.xml: its parser gives the best error, with a position.
	c, err := conf.ReadCapacity(whole, path)
	if err != nil {
		return nil, err
	}
	return checked(path, func() (policy.Policy, error) { return capacity.New(c) })
}

// checked builds one policy to validate the file.
func checked(path string, fresh func() (policy.Policy, error)) (func() (policy.Policy, error), error) {
	if _, err := fresh(); err != nil {
		return nil, fmt.Errorf("scheduler file %s: %w", path, err)
	}
	return fresh, nil
}
