package yard

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/steer"
	"github.com/yardmaster/yardmaster/steer/drive"
)

func knobOf(property string) drive.Knob {
	return drive.Knob{Kind: steer.SetQueue, Queue: "root.default", Property: property}
}

// Every property of a queue is read, written, seen in force and put back as it was found, over REST.
func TestPropertiesOverREST(t *testing.T) {
	const prefix = "yarn.scheduler.capacity.root.default."
	for _, c := range []struct {
		property, key, was string // "": not set
		number, found      float64
		text, field        string
	}{
		{"maximum-capacity", "maximum-capacity", "80", 60, 80, "60", "maxCapacity"},
		{"maximum-capacity", "maximum-capacity", "", 60, 100, "60", "maxCapacity"},
		{"weight", "capacity", "2w", 3.5, 2, "3.5w", "weight"},
		{"capacity", "capacity", "60", 70, 60, "70", "capacity"},
		{"user-limit-factor", "user-limit-factor", "", 2, 1, "2", "userLimitFactor"},
		{"minimum-user-limit-percent", "minimum-user-limit-percent", "25", 50, 25, "50", "userLimit"},
		{"state", "state", "RUNNING", 0, 1, "STOPPED", "state"},
	} {
		m := newManager("3.4.2", false)
		if c.was != "" {
			m.settings[prefix+c.key] = c.was
		}
		entry := regexp.MustCompile(`<key>([^<]*)</key><value>([^<]*)</value>`)
		m.put = func(w http.ResponseWriter, body string) bool {
			for _, e := range entry.FindAllStringSubmatch(body, -1) {
				m.settings[prefix+e[1]] = e[2]
				if e[2] == "" {
					delete(m.settings, prefix+e[1])
				}
				if e[1] == c.key {
					n, err := strconv.ParseFloat(strings.TrimSuffix(e[2], "w"), 64)
					if err != nil {
						n = c.found
					}
					if m.leaf[c.field] = n; c.property == "state" {
						m.leaf[c.field] = e[2]
					}
				}
			}
			fmt.Fprint(w, "Configuration change successfully applied.")
			return true
		}
		y := m.open(t, Options{})
		ctx, k := t.Context(), knobOf(c.property)
		found, err := y.Read(ctx, k)
		if err != nil || found.Number != c.found || found.Text != c.was || found.Set != (c.was != "") {
			t.Errorf("%s: found %+v, %v", c.property, found, err)
			continue
		}
		v := y.Value(k, c.number)
		v.Mark = "host:journal"
		if err := y.Write(ctx, k, v); err != nil || m.settings[prefix+c.key] != c.text || m.settings[prefix+"yardmaster.journal."+c.property] != v.Mark {
			t.Errorf("%s: %v, %v", c.property, err, m.settings)
		}
		if in, err := y.InForce(ctx, k, v); err != nil || !in {
			t.Errorf("%s: %v, %v; %v", c.property, in, err, m.leaf)
		}
		if now, err := y.Read(ctx, k); err != nil || now.Mark != v.Mark || now.Text != c.text {
			t.Errorf("%s: %+v, %v", c.property, now, err)
		}
		if err := y.Write(ctx, k, found); err != nil || m.settings[prefix+c.key] != c.was || m.settings[prefix+"yardmaster.journal."+c.property] != "" {
			t.Errorf("%s: %v, %v", c.property, err, m.settings)
		}
		if in, err := y.InForce(ctx, k, found); err != nil || !in {
			t.Errorf("%s: %v, %v; %v", c.property, in, err, m.leaf)
		}
		for _, text := range []string{"", "x", "1</value>", "-5"} { // from a journal
			if err := y.Write(ctx, k, drive.Value{Text: text, Set: true, Number: 1}); err == nil || errors.Is(err, drive.ErrFate) {
				t.Errorf("%s is set to %q: %v", c.property, text, err)
			}
		}
	}
	m := newManager("3.4.2", false)
	if _, err := m.open(t, Options{}).Read(t.Context(), knobOf("state")); err == nil {
		t.Error("a state that is not configured could not be put back")
	}
	m.settings["yarn.scheduler.capacity.root.default.capacity"] = "[memory=1024,vcores=1]" // absolute amounts are left alone
	y := m.open(t, Options{})
	for _, p := range []string{"capacity", "weight"} {
		if _, err := y.Read(t.Context(), knobOf(p)); err == nil {
			t.Error("read as a number")
		}
	}
}

// The same in the schedulers' files, whose other bytes stay as they are.
func TestPropertiesInFiles(t *testing.T) {
	m := newManager("3.4.2", true)
	file := filepath.Join(t.TempDir(), "fair-scheduler.xml")
	const before = "<allocations>\n  <queue name=\"default\">\n    <weight>2.0</weight> <!-- kept -->\n    <maxAMShare>0.3</maxAMShare>\n  </queue>\n</allocations>\n"
	if err := os.WriteFile(file, []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-time.Minute)
	if err := os.Chtimes(file, old, old); err != nil {
		t.Fatal(err)
	}
	y := m.open(t, Options{File: file})
	ctx := t.Context()
	for _, c := range []struct {
		property string
		found    drive.Value
		number   float64
		has      string
	}{
		{"weight", drive.Value{Text: "2.0", Set: true, Number: 2}, 5, "<weight>5</weight> <!-- kept -->"},
		{"maxRunningApps", drive.Value{Number: 1<<31 - 1}, 4, "<maxRunningApps>4</maxRunningApps>"},
	} {
		k := knobOf(c.property)
		found, err := y.Read(ctx, k)
		if err != nil || found != c.found {
			t.Fatalf("%s: %+v, %v", c.property, found, err)
		}
		v := y.Value(k, c.number)
		if err := y.Write(ctx, k, v); err != nil || !strings.Contains(content(t, file), c.has) {
			t.Fatalf("%s: %v\n%s", c.property, err, content(t, file))
		}
		if in, err := y.InForce(ctx, k, v); err != nil || in {
			t.Errorf("%s: in force at once, %v", c.property, err)
		}
		if err := os.Chtimes(file, old, old); err != nil {
			t.Fatal(err)
		}
		if in, err := y.InForce(ctx, k, v); err != nil || !in {
			t.Errorf("%s: not in force, %v", c.property, err)
		}
		if err := y.Write(ctx, k, found); err != nil || content(t, file) != before {
			t.Fatalf("%s: %v\n%s", c.property, err, content(t, file))
		}
		if err := os.Chtimes(file, old, old); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range []string{"maximum-capacity", "state", "colour"} {
		if _, err := y.Read(ctx, knobOf(p)); err == nil {
			t.Errorf("the FairScheduler has %s", p)
		}
	}
}
