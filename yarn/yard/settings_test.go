package yard

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/yardmaster/yardmaster/steer/drive"
)

// Several settings make one knob and one value, and come back from them; numbers may be written in several ways.
func TestTogether(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) drive.Setting {
			s := drive.Setting{Queue: rapid.SampledFrom([]string{"", "root", "root.a", "root.a:b"}).Draw(t, "queue"), Property: rapid.StringMatching(`[a-z][a-z.-]{0,9}`).Draw(t, "property")}
			if s.Set = rapid.Bool().Draw(t, "set"); s.Set {
				s.Text = rapid.String().Draw(t, "text")
			}
			return s
		}), 1, 9).Draw(t, "settings")
		k, v, err := drive.Together(list)
		if err != nil {
			t.Fatal(err)
		}
		got, err := k.Settings(v)
		if err != nil || len(got) != len(list) || !drive.Same(k, v, v) {
			t.Fatalf("%v, %v", got, err)
		}
		for i := range got {
			if got[i] != list[i] {
				t.Fatalf("%+v became %+v", list[i], got[i])
			}
		}
	})
	one := func(text string) (drive.Knob, drive.Value) {
		k, v, _ := drive.Together([]drive.Setting{{Queue: "root.a", Property: "capacity", Text: text, Set: text != ""}})
		return k, v
	}
	k, a := one("70")
	_, b := one("70.0")
	_, c := one("71")
	_, none := one("")
	if !drive.Same(k, a, b) || drive.Same(k, a, c) || drive.Same(k, a, none) || k.String() != "root.a.capacity" {
		t.Errorf("%v: %v %v %v", k, a, b, c)
	}
	if _, err := k.Settings(drive.Value{Text: `["1","2"]`}); err == nil {
		t.Error("a value of two settings is one of one")
	}
}

// In a file, several settings are changed at once, and restoring them leaves every byte as it was.
func TestTogetherInAFile(t *testing.T) {
	for name, c := range map[string]struct {
		kind fileKind
		text string
		set  []drive.Setting
	}{
		"capacity": {propertyFile, `<configuration>
  <!-- by hand -->
  <property><name>yarn.scheduler.capacity.root.queues</name><value>a,b</value></property>
  <property><name>yarn.scheduler.capacity.root.a.capacity</name><value> 40.0 </value></property>
  <property><name>yarn.scheduler.capacity.root.b.capacity</name><value>60</value></property>
</configuration>
`, settings("root.a", "capacity", "70", "root.b", "capacity", "30", "", "node-locality-delay", "20")},
		"fair": {allocationFile, `<allocations>
  <queue name="a"><weight>2.0</weight></queue>
  <queue name="b"/> <!-- by hand -->
</allocations>
`, settings("root.a", "weight", "3", "root.b", "maxRunningApps", "5")},
	} {
		k, v, err := drive.Together(c.set)
		if err != nil {
			t.Fatal(err)
		}
		f := (editedFile{path: name, kind: c.kind}).of(k.Property)
		old, err := f.value([]byte(c.text), k.Queue)
		if err != nil {
			t.Fatal(err)
		}
		v.Mark = "mark"
		out, err := f.change([]byte(c.text), k.Queue, &old, v)
		if err != nil {
			t.Fatal(err)
		}
		if now, err := f.value(out, k.Queue); err != nil || !drive.Same(k, now, v) {
			t.Errorf("%s: %v, %v", name, now, err)
		}
		if back, err := f.change(out, k.Queue, &v, old); err != nil || string(back) != c.text {
			t.Errorf("%s: %v\n%s", name, err, back)
		}
	}
}

func settings(words ...string) (list []drive.Setting) {
	for i := 0; i < len(words); i += 3 {
		list = append(list, drive.Setting{Queue: words[i], Property: words[i+1], Text: words[i+2], Set: true})
	}
	return list
}
