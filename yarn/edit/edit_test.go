package edit_test

import (
	"strings"
	"testing"

	"github.com/yardmaster/yardmaster/yarn/edit"
)

const capacityFile = `<configuration>
  <!-- three teams -->
  <property><name>yarn.scheduler.capacity.root.queues</name><value>prod,batch,adhoc</value></property>
  <property><name>yarn.scheduler.capacity.root.prod.capacity</name><value>60</value></property>
  <property><name>yarn.scheduler.capacity.root.batch.capacity</name><value>27</value></property>
  <property><name>yarn.scheduler.capacity.root.adhoc.capacity</name><value>13</value></property>
</configuration>
`

const fairFile = `<allocations>
  <queue name="prod"><weight>3</weight></queue>
  <queue name="adhoc"/>
</allocations>
`

func changes(t *testing.T, words string) []edit.Change {
	t.Helper()
	var list []edit.Change
	for word := range strings.FieldsSeq(words) {
		c, err := edit.Parse(word)
		if err != nil {
			t.Fatal(err)
		}
		if c.String() != word {
			t.Errorf("%q is written as %q", word, c)
		}
		list = append(list, c)
	}
	return list
}

func TestApply(t *testing.T) {
	for _, c := range []struct{ file, words, old, fresh string }{
		{capacityFile, "root.batch.capacity=40 root.adhoc.capacity=0", "<value>27</value>", "<value>40</value>"},
		{capacityFile, "node-locality-delay=40", "</configuration>", "  <property><name>yarn.scheduler.capacity.node-locality-delay</name><value>40</value></property>\n</configuration>"},
		{capacityFile, "root.prod.capacity=60 node-locality-delay=", "", ""}, // it was not there
		{fairFile, "root.prod.weight=", "<weight>3</weight>", ""},
		{fairFile, "root.prod.weight=5", "<weight>3", "<weight>5"},
		{fairFile, "userMaxAppsDefault=5", "</allocations>", "  <userMaxAppsDefault>5</userMaxAppsDefault>\n</allocations>"},
	} {
		want := strings.Replace(c.file, c.old, c.fresh, 1)
		want = strings.Replace(want, "<value>13</value>", map[bool]string{true: "<value>0</value>", false: "<value>13</value>"}[strings.Contains(c.words, "adhoc")], 1)
		got, err := edit.Apply("file.xml", []byte(c.file), changes(t, c.words))
		if err != nil || string(got) != want {
			t.Errorf("%s: %v\n%s", c.words, err, got)
		}
	}
	got, err := edit.Apply("f", []byte(fairFile), changes(t, "root.adhoc.maxRunningApps=7"))
	if err != nil {
		t.Fatal(err)
	}
	if v, set, err := edit.Value(got, "root.adhoc", "maxRunningApps"); v != "7" || !set || err != nil {
		t.Error(v, set, err)
	}
	if _, set, err := edit.Value(got, "root.other", "weight"); set || err != nil {
		t.Error(set, err)
	}
}

func TestApplyRefuses(t *testing.T) {
	for _, c := range []struct{ file, words, want string }{
		{capacityFile, "root.prod.capacity=70", "add up to 110, not to 100: scale root.batch and root.adhoc to 20.3 and 9.7? Add root.batch.capacity=20.3 root.adhoc.capacity=9.7"},
		{capacityFile, "root.prod.capacity=100", "give all of them"},
		{capacityFile, "root.prod.capacity=", "queue root.prod has no capacity"},
		{capacityFile, "root.prd.capacity=70", "no queue root.prd; did you mean \"root.prod\"?"},
		{capacityFile, "root.prod.capasity=70", "capasity is no setting of queue root.prod; did you mean \"capacity\"?"},
		{capacityFile, "node-localty-delay=70", "did you mean \"node-locality-delay\"?"},
		{capacityFile, "root.user-limit-factor=2", "set it on its leaves"},
		{capacityFile, "root.prod.maximum-capacity=5", "above its maximum-capacity"},
		{capacityFile, "root.prod.maximum-capacity=70 root.prod.maximum-capacity=80", "set twice"},
		{fairFile, "root.prod.capacity=70", "capacity is no setting of queue root.prod"},
		{"<x/>", "root.prod.capacity=70", "neither"},
	} {
		if _, err := edit.Apply("file.xml", []byte(c.file), changes(t, c.words)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.words, err)
		}
	}
	for _, word := range []string{"root.prod", "=7", "root=7", "root=", "root.=7", "root.a.capacity=<b>"} {
		if c, err := edit.Parse(word); err == nil {
			t.Errorf("%q is %v", word, c)
		}
	}
}
