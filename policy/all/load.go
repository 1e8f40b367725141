package all

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/yardmaster/yardmaster/internal/suggest"
	"github.com/yardmaster/yardmaster/policy"
	"github.com/yardmaster/yardmaster/policy/capacity"
	"github.com/yardmaster/yardmaster/policy/capacity1"
	"github.com/yardmaster/yardmaster/policy/fair"
	"github.com/yardmaster/yardmaster/policy/plan"
	"github.com/yardmaster/yardmaster/policy/planned"
	"github.com/yardmaster/yardmaster/yarn/conf"
)

// Load loads a scheduler as typed: a known name with parameters (fifo, fair:by=user), with a placement if any (capacity+delay:node=3s), or the path of a capacity-scheduler.xml (YARN's or
// Hadoop 1's, distinguished by their settings), a fair-scheduler.xml or a plan (package plan). A file is read once, here; each call of fresh builds a new policy
// for one run and is safe for concurrent use. title names the scheduler in tables: what was typed, or the file's name.
func Load(known policy.Registry, spec string) (fresh func() (policy.Policy, error), title string, err error) {
	spec = strings.TrimSpace(spec)
	if order, place := known.Split(spec); place != "" {
		if fresh, title, err = Load(known, order); err != nil {
			return nil, "", err
		}
		fresh, err = known.Combine(order, fresh, place)
		return fresh, title + "+" + place, err
	}
	if IsFile(known, spec) {
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
	if _, ok := known.Find(s.Name); !ok {
		return nil, "", unknown(known, s.Name)
	}
	fresh = func() (policy.Policy, error) { return known.New(s) }
	if _, err := fresh(); err != nil { // so that a wrong parameter fails now and not in the middle of a comparison
		return nil, "", err
	}
	return fresh, spec, nil
}

// IsFile says whether a scheduler as typed is the path of a file.
func IsFile(known policy.Registry, spec string) bool {
	spec, _ = known.Split(spec)
	name, _, _ := strings.Cut(spec, ":")
	if _, ok := known.Find(name); ok {
		return false // parameters may look like a file: hybrid:model=m.json
	}
	if ext := filepath.Ext(spec); strings.EqualFold(ext, ".xml") || strings.EqualFold(ext, ".json") {
		return true
	}
	st, err := os.Stat(spec)
	return err == nil && st.Mode().IsRegular()
}

func unknown(known policy.Registry, name string) error {
	if order, place, ok := strings.Cut(name, "+"); ok && slices.Contains(known.Names(), order) {
		name = place
	}
	there := "there are " + strings.Join(known.Names(), ", ") + " and files that end in .xml"
	if meant, ok := suggest.Closest(name, known.Names()); ok {
		return fmt.Errorf("no scheduler is named %s: did you mean %s? (%s)", name, meant, there)
	}
	return fmt.Errorf("no scheduler is named %s: %s", name, there)
}

func loadFile(path string) (func() (policy.Policy, error), error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("scheduler file %s does not exist", path)
	}
	if err != nil {
		return nil, fmt.Errorf("read scheduler file: %w", err)
	}
	return Read(path, text)
}

// Read makes the scheduler that a file's content describes; path is for messages.
func Read(path string, text []byte) (func() (policy.Policy, error), error) {
	if plan.Is(text) {
		p, err := plan.Read(bytes.NewReader(text))
		if err != nil {
			return nil, fmt.Errorf("scheduler file %s: %w", path, err)
		}
		return func() (policy.Policy, error) { return planned.New(p), nil }, nil
	}
	switch conf.Detect(text) {
	case conf.FairFile:
		c, err := conf.ReadFair(bytes.NewReader(text), path)
		if err != nil {
			return nil, err
		}
		return func() (policy.Policy, error) { return fair.FromConf(c) }, nil
	case conf.Capacity1File:
		c, err := conf.ReadCapacity1(bytes.NewReader(text), path)
		if err != nil {
			return nil, err
		}
		return checked(path, func() (policy.Policy, error) { return capacity1.FromConf(c) })
	}
	// Everything else is parsed as a capacity-scheduler.xml: its parser gives the best error, with a position.
	c, err := conf.ReadCapacity(bytes.NewReader(text), path)
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
