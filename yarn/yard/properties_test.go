package yard

import (
	"errors"
	"fmt"
	"maps"
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
			if err := y.Write(ctx, k, drive.Value{Text: text, Set: true, Number: 1}); err == nil || errors.Is(err, drive.ErrOutcomeUnknown) {
				t.Errorf("%s is set to %q: %v", c.property, text, err)
			}
		}
	}
	m := newManager("3.4.2", false)
	if _, err := m.open(t, Options{}).Read(t.Context(), knobOf("state")); err == nil {
		t.Error("a state that is not configured could not be put back")
	}
	m.settings["yarn.scheduler.capacity.root.default.capacity"] = "[memory=1024,vcores=1]" // absolute amounts are left alone
	m.settings["yarn.scheduler.capacity.root.other.capacity"] = "40"
	y := m.open(t, Options{})
	for _, k := range []drive.Knob{knobOf("weight"), knobOf("capacity"), capacities} {
		if _, err := y.Read(t.Context(), k); err == nil {
			t.Errorf("%v is read as a number", k)
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

var capacities = drive.Knob{Kind: steer.SetQueue, Queue: "root", Property: steer.Capacities}

// The capacities of siblings are one knob: one request, one mark, put back as one. Only those of queues that may be set are changed.
func TestCapacitiesOverREST(t *testing.T) {
	const prefix = "yarn.scheduler.capacity.root"
	m := newManager("3.4.2", false)
	m.settings[prefix+".queues"] = "default, other,third"
	m.settings[prefix+".default.capacity"], m.settings[prefix+".other.capacity"], m.settings[prefix+".third.capacity"] = "60.0", "30", "10"
	entry := regexp.MustCompile(`<update-queue><queue-name>root([^<]*)</queue-name><params><entry><key>([^<]*)</key><value>([^<]*)</value></entry></params></update-queue>`)
	puts := 0
	m.put = func(w http.ResponseWriter, body string) bool {
		puts++
		for _, e := range entry.FindAllStringSubmatch(body, -1) {
			if m.settings[prefix+e[1]+"."+e[2]] = e[3]; e[3] == "" {
				delete(m.settings, prefix+e[1]+"."+e[2])
			}
		}
		fmt.Fprint(w, "Configuration change successfully applied.")
		return true
	}
	before := maps.Clone(m.settings)
	y := m.open(t, Options{Queues: []string{"root.default", "root.other"}})
	ctx := t.Context()
	found, err := y.Read(ctx, capacities)
	if err != nil || found.Text != "default=60.0,other=30,third=10" {
		t.Fatal(found, err)
	}
	v := drive.Value{Text: "default=55.5,other=34.5,third=10", Set: true, Mark: "host:/journal"}
	if err := y.Write(ctx, capacities, v); err != nil || puts != 1 {
		t.Fatal(puts, err)
	}
	if now, err := y.Read(ctx, capacities); err != nil || now.Text != v.Text || now.Mark != v.Mark || m.settings[prefix+".yardmaster.journal.capacities"] != v.Mark {
		t.Error(now, err, m.settings)
	}
	for _, text := range []string{"default=50,other=34.5,third=15.5", "default=x,other=1,third=1", "", "default=-1,other=91,third=10"} {
		if err := y.Write(ctx, capacities, drive.Value{Text: text, Set: true, Mark: "host:/journal"}); err == nil || errors.Is(err, drive.ErrOutcomeUnknown) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if err := y.Write(ctx, capacities, found); err != nil || puts != 2 || !maps.Equal(m.settings, before) {
		t.Error(puts, err, m.settings)
	}
	if _, err := m.open(t, Options{Queues: []string{"root.other"}}).Read(ctx, drive.Knob{Kind: steer.SetQueue, Queue: "root.default", Property: steer.Capacities}); err == nil {
		t.Error("capacities of a queue that has none in it")
	}
}

// In the file they are one edit, after which the file is whole, and back it is the same to the byte.
func TestCapacitiesInTheFile(t *testing.T) {
	m := newManager("3.4.2", false)
	m.conf["yarn.scheduler.configuration.store.class"] = "file"
	file := filepath.Join(t.TempDir(), "capacity-scheduler.xml")
	property := func(name, value string) string {
		return "  <property><name>yarn.scheduler.capacity.root." + name + "</name><value> " + value + " </value></property>\n"
	}
	before := "<configuration>\n" + property("queues", "default,other") + property("default.capacity", "60") + property("other.capacity", "40.00") + "</configuration>\n"
	if err := os.WriteFile(file, []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	y := m.open(t, Options{File: file, Refresh: []string{"true"}, Queues: []string{All}})
	ctx := t.Context()
	found, err := y.Read(ctx, capacities)
	if err != nil || found.Text != "default=60,other=40.00" {
		t.Fatal(found, err)
	}
	if err := y.Write(ctx, capacities, drive.Value{Text: "default=75,other=26", Set: true, Mark: "m"}); err == nil || content(t, file) != before {
		t.Errorf("a sum of 101: %v", err)
	}
	if err := y.Write(ctx, capacities, drive.Value{Text: "default=75,other=25", Set: true, Mark: "m"}); err != nil || !strings.Contains(content(t, file), "> 25 <") {
		t.Fatal(err, content(t, file))
	}
	if now, err := y.Read(ctx, capacities); err != nil || now.Text != "default=75,other=25" {
		t.Error(now, err)
	}
	if err := y.Write(ctx, capacities, found); err != nil || content(t, file) != before {
		t.Error(err, content(t, file))
	}
}
