package yard

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/yardmaster/yardmaster/internal/fixedseed"
	"github.com/yardmaster/yardmaster/steer/drive"
)

func set(text string) drive.Value {
	number, _ := strconv.ParseFloat(text, 64) // some are to be refused
	return drive.Value{Text: text, Set: true, Number: number}
}

// What is put in is what is asked for, and nothing else changes.
func TestEdit(t *testing.T) {
	const key = "yarn.scheduler.capacity.root.a.maximum-am-resource-percent"
	const base = "<configuration>\n  <property><name>yarn.scheduler.capacity.root.queues</name><value>a</value></property>\n" +
		"  <property><name>yarn.scheduler.capacity.root.a.capacity</name><value>100</value></property>\n"
	for name, c := range map[string]struct {
		kind      fileKind
		old, want string // in old, @ stands where the change is; in want, what is there then
	}{
		"a property's value":       {propertyFile, base + "<!-- <value>9</value> --><property>\n<name>" + key + "</name>\n<value> @0.1@ </value>\n</property></configuration>", "0.25"},
		"a new property":           {propertyFile, base + "@@</configuration>\n", "  <property><name>" + key + "</name><value>0.25</value></property>\n"},
		"a new property, CRLF":     {propertyFile, strings.ReplaceAll(base, "\n", "\r\n") + "@@</configuration>\r\n", "  <property><name>" + key + "</name><value>0.25</value></property>\r\n"},
		"a new property, one line": {propertyFile, strings.ReplaceAll(base, "\n", "") + "@@</configuration>", "<property><name>" + key + "</name><value>0.25</value></property>"},
		"a variable":               {propertyFile, base + "<property><name>x</name><value>0.3</value></property><property><name>" + key + "</name><value>@${x}@</value></property></configuration>", "0.25"},
		"the final one of two": {propertyFile, base + "<property><name>" + key + "</name><value>@0.3@</value><final>true</final></property>" +
			"<property><name>" + key + "</name><value>0.4</value></property></configuration>", "0.25"},
		"the last one of two": {propertyFile, base + "<property><name>" + key + "</name><value>0.3</value></property>" +
			"<property><name>" + key + "</name><value>@0.4@</value></property></configuration>", "0.25"},
		"a share":               {allocationFile, "<allocations><queue name=\"b\"><maxAMShare>0.7</maxAMShare></queue><queue name='a'><maxAMShare>\n@0.2@</maxAMShare></queue></allocations>", "0.25"},
		"a share inside root":   {allocationFile, "<?xml version=\"1.0\"?>\n<allocations>\n <queue name=\"root\">\n  <queue name=\"a\">\n\t<weight>2</weight>\n@@  </queue>\n </queue>\n</allocations>", "    <maxAMShare>0.25</maxAMShare>\n"},
		"a new share, one line": {allocationFile, "<allocations><queue name=\"a\"><weight>2</weight>@@</queue></allocations>", "<maxAMShare>0.25</maxAMShare>"},
		"an empty queue":        {allocationFile, "<allocations><queue name=\"a\">@@</queue></allocations>", "<maxAMShare>0.25</maxAMShare>"},
		"a closed queue":        {allocationFile, "<allocations><queue name=\"a\" @/>@</allocations>", "><maxAMShare>0.25</maxAMShare ></queue>"},
		"a pool, twice":         {allocationFile, "<allocations><pool name=\"a\"/><pool name=\"a\"><weight>1</weight> @@</pool></allocations>", "<maxAMShare>0.25</maxAMShare>"},
	} {
		f := editedFile{"FILE", c.kind}
		parts := strings.Split(c.old, "@")
		old, want := parts[0]+parts[1]+parts[2], parts[0]+c.want+parts[2]
		found, err := f.value([]byte(old), "root.a")
		if err != nil {
			t.Error(name, err)
			continue
		}
		got, err := f.edit([]byte(old), "root.a", set("0.25"))
		if err != nil || string(got) != want {
			t.Errorf("%s: %v\n%q, want\n%q", name, err, got, want)
			continue
		}
		if v, err := f.value(got, "root.a"); err != nil || v != (drive.Value{Text: "0.25", Set: true, Number: 0.25}) {
			t.Error(name, v, err)
		}
		if back, err := f.edit(got, "root.a", found); err != nil || string(back) != old {
			t.Errorf("%s, back: %v\n%q, want\n%q", name, err, back, old)
		}
	}
}

func TestEditRefuses(t *testing.T) {
	const key = "yarn.scheduler.capacity.root.a.maximum-am-resource-percent"
	for _, c := range []struct {
		kind       fileKind
		text, want string
		v          drive.Value
	}{
		{allocationFile, `<allocations><queue name="b"/></allocations>`, `queue root.a is not in the file: add <queue name="a"/> where it belongs`, set("0.2")},
		{allocationFile, `<allocations><queue name="a"><maxAMShare>0.<!-- -->2</maxAMShare></queue></allocations>`, "something other than a plain value", set("0.2")},
		{allocationFile, `<allocations><queue name="a"><maxAMShare>&#48;.2</maxAMShare></queue></allocations>`, "something other than a plain value", set("0.2")},
		{allocationFile, `<allocations><queue name="a"/>`, "not well-formed XML", set("0.2")},
		{allocationFile, `<allocations><queue name="a"/></allocations>`, "is no value", set("0.2</maxAMShare><weight>9")},
		{allocationFile, `<allocations><queue name="a"/></allocations>`, "want a share between 0 and 1", set("much")},
		{allocationFile, `<allocations><queue name="a"><maxAMShare>0.1</maxAMShare><maxAMShare>0.2</maxAMShare></queue></allocations>`, "cannot be changed safely", drive.Value{}},
		{allocationFile, `<configuration/>`, "a fair-scheduler.xml has <allocations>", set("0.2")},
		{propertyFile, `<allocations/>`, "starts with <configuration>", set("0.2")},
		{propertyFile, `<configuration/>`, "there is nothing in it", set("0.2")},
		{propertyFile, `<configuration><property name="` + key + `" value="0.3"/></configuration>`, "is given by attributes", set("0.2")},
		{propertyFile, `<configuration><property><name>x</name><value>${` + key + `}</value></property><property><name>` + key + `</name><value>0.2</value></property></configuration>`, "would alter more than the one value", set("0.3")},
		{propertyFile, `<configuration><include href="x"/></configuration>`, "<include> is not followed", set("0.2")},
	} {
		f := editedFile{"FILE", c.kind}
		out, err := f.edit([]byte(c.text), "root.a", c.v)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %q, %v, want %q", c.text, out, err, c.want)
		} else {
			t.Log(err)
		}
	}
}

// drawFile makes a file with the queue root.a.b in it, in many spellings.
func drawFile(t *rapid.T, kind fileKind) string {
	space := func() string {
		return rapid.SampledFrom([]string{"", "", " ", "\n", "\n  ", "\r\n\t", "\n\n    ", "<!-- <maxAMShare>7</maxAMShare> </queue> -->", "\n<!-- a -->\n  "}).Draw(t, "space")
	}
	share := func() string {
		if rapid.Bool().Draw(t, "has") {
			return ""
		}
		return "<maxAMShare>" + rapid.SampledFrom([]string{"0.2", " .5\n", "1", "-1.0", "2"}).Draw(t, "share") + "</maxAMShare>"
	}
	if kind == allocationFile {
		inner := func() string {
			return space() + rapid.SampledFrom([]string{"", "<weight>2</weight>"}).Draw(t, "w") + space()
		}
		b := rapid.SampledFrom([]string{
			`<queue name="b"/>`, `<pool  name='b'  />`, `<queue name="b">` + inner() + share() + inner() + `</queue>`, `<queue name=" b "` + "\n>" + inner() + share() + `</queue >`,
		}).Draw(t, "b")
		a := `<queue name="a">` + inner() + share() + inner() + b + inner() + `</queue>`
		if rapid.Bool().Draw(t, "again") {
			a += space() + `<queue name="a" type="parent">` + space() + `<queue name="b">` + share() + inner() + `</queue></queue>`
		}
		other := `<queue name="b">` + share() + `</queue>`
		all := space() + a + space() + other + space()
		if rapid.Bool().Draw(t, "root") {
			all = space() + `<queue name="root">` + all + `</queue>` + space()
		}
		return `<?xml version="1.0"?>` + "\n<allocations>" + all + rapid.SampledFrom([]string{"", "<queueMaxAMShareDefault>0.4</queueMaxAMShareDefault>"}).Draw(t, "default") + space() + "</allocations>" + space()
	}
	p := func(name, value string) string {
		in := fmt.Sprintf("<property>%s<name>%s</name>%s<value>%s</value>%s</property>", space(), name, space(), value, rapid.SampledFrom([]string{"", "<description>x &amp; y</description>", "<final>true</final>"}).Draw(t, "more"))
		return space() + in
	}
	const c = "yarn.scheduler.capacity."
	all := p(c+"root.queues", "a") + p(c+"root.a.queues", "b") + p(c+"root.a.capacity", "100") + p(c+"root.a.b.capacity", "100")
	if rapid.Bool().Draw(t, "global") {
		all += p(c+"maximum-am-resource-percent", "0.4")
	}
	if rapid.Bool().Draw(t, "own") {
		all += p(c+"root.a.b.maximum-am-resource-percent", rapid.SampledFrom([]string{"0.2", " .5\n", "1"}).Draw(t, "share"))
	}
	return "<configuration>" + all + space() + "</configuration>" + space()
}

// Whatever the file looks like: set and put back gives the same bytes, and a change in between keeps all others.
func TestEditKeepsEveryOtherByte(t *testing.T) {
	for _, kind := range []fileKind{propertyFile, allocationFile} {
		rapid.Check(t, func(t *rapid.T) {
			x := []byte(drawFile(t, kind))
			f := editedFile{"FILE", kind}
			const q = "root.a.b"
			found, err := f.value(x, q)
			if err != nil {
				t.Fatalf("%v in\n%s", err, x)
			}
			first := formatShare(rapid.Float64Range(0.0001, 1).Draw(t, "first"))
			second := formatShare(float64(rapid.IntRange(1, 1000).Draw(t, "second")) / 1000)
			one, err := f.edit(x, q, set(first))
			if err != nil {
				t.Fatalf("%v in\n%s", err, x)
			}
			two, err := f.edit(one, q, set(second))
			if err != nil {
				t.Fatalf("%v in\n%s", err, one)
			}
			if v, err := f.value(two, q); err != nil || v.Text != second || !v.Set {
				t.Fatal(v, err)
			}
			if i := strings.Index(string(one), first); strings.Count(string(one), first) == 1 && string(two) != string(one[:i])+second+string(one[i+len(first):]) {
				t.Fatalf("more than the value has changed:\n%s\n%s", one, two)
			}
			back, err := f.edit(two, q, found)
			if err != nil || string(back) != string(x) {
				t.Fatalf("%v: put back:\n%q\nwas:\n%q", err, back, x)
			}
		})
	}
}

// Whatever is in a file, an edit refuses or changes only what it should.
func FuzzEdit(f *testing.F) {
	for _, s := range []string{"<configuration></configuration>", `<allocations><queue name="a"/></allocations>`, "<a/>", "", "<configuration>\n<property><name>a</name></property>\n</configuration>",
		`<allocations><queue name="root"><queue name="a"><maxAMShare>1</maxAMShare></queue></queue></allocations>`} {
		f.Add([]byte(s), true)
		f.Add([]byte(s), false)
	}
	f.Fuzz(func(t *testing.T, x []byte, fair bool) {
		e := editedFile{"FILE", propertyFile}
		if fair {
			e.kind = allocationFile
		}
		found, err := e.value(x, "root.a")
		if err != nil {
			return
		}
		y, err := e.edit(x, "root.a", set("0.125"))
		if err != nil {
			return
		}
		back, err := e.edit(y, "root.a", found)
		if err != nil || string(back) != string(x) {
			t.Fatalf("%v\n%q\n%q\n%q", err, x, y, back)
		}
	})
}

func TestReplaceKeepsModeAndLinks(t *testing.T) {
	dir := t.TempDir()
	target := filepath.Join(dir, "real.xml")
	const old = `<allocations><queue name="a"/></allocations>`
	if err := os.WriteFile(target, []byte(old), 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "fair-scheduler.xml")
	if err := os.Symlink("real.xml", link); err != nil {
		t.Fatal(err)
	}
	f := editedFile{link, allocationFile}
	write := func(text string) {
		t.Helper()
		o, err := f.open()
		if err != nil {
			t.Fatal(err)
		}
		defer o.Close()
		if err := o.replace([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	check := func(want string) {
		t.Helper()
		data, err := os.ReadFile(target)
		info, err2 := os.Lstat(link)
		mode, err3 := os.Stat(target)
		if err != nil || err2 != nil || err3 != nil || string(data) != want || info.Mode()&os.ModeSymlink == 0 || mode.Mode().Perm() != 0o600 {
			t.Errorf("%q %v %v, %v %v %v", data, info.Mode(), mode.Mode(), err, err2, err3)
		}
		if left, _ := filepath.Glob(filepath.Join(dir, ".*")); len(left) > 0 {
			t.Error(left)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, ".real.xml."+strings.Repeat("A", 26)+".tmp"), []byte("half"), 0o600); err != nil { // of one that was killed
		t.Fatal(err)
	}
	write("new")
	check("new")
	second := filepath.Join(dir, "second.xml") // a hard link: both names must see the change
	if err := os.Link(target, second); err != nil {
		t.Fatal(err)
	}
	write("shorter and longer")
	check("shorter and longer")
	write("end")
	check("end")
	if data, err := os.ReadFile(second); err != nil || string(data) != "end" {
		t.Errorf("%q %v", data, err)
	}
	if err := os.Chmod(target, 0o444); err != nil {
		t.Fatal(err)
	}
	if _, err := f.open(); err == nil || !strings.Contains(err.Error(), "not changed: ") {
		t.Error(err)
	} else {
		t.Log(err)
	}
	f.path = filepath.Join(dir, "missing.xml")
	if _, err := f.open(); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Error(err)
	} else {
		t.Log(err)
	}
}
