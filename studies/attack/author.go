package attack

import (
	"os"
	"strings"

	"github.com/yardmaster/yardmaster/studies/endure"
)

// authorAttacks are those of whoever wrote a file that the operator gives to a live command.
func authorAttacks() []Attack {
	return []Attack{
		{Name: "file that shows another change", Actor: Author, run: disguised,
			Tries: "A new configuration whose values contain line breaks, escape sequences and rows of the table, so that the operator approves another change.",
			Holds: "The table has one line for each change, with the value escaped, or the file is refused."},
		{Name: "XML bombs", Actor: Author, run: xmlBombs,
			Tries: "Entities, includes, a million levels and 20 MB in a new configuration.",
			Holds: "`apply` and `prepare --file` end with an error, within their memory; nothing outside the file is read."},
		{Name: "expectation bomb", Actor: Author, run: jsonBombs,
			Tries: "JSON nested a million levels deep, wrong types and huge numbers for `apply --expect`.",
			Holds: "`apply` ends with an error, within its memory."},
		{Name: "file with marks and other settings", Actor: Author, run: marksInFile,
			Tries: "A new configuration that also sets our marks and properties that are not the scheduler's.",
			Holds: "Only settings of queues that the table shows are sent to the ResourceManager."},
	}
}

func property(name, value string) string {
	return "<property><name>yarn.scheduler.capacity." + name + "</name><value>" + value + "</value></property>\n"
}

func disguised(t *trial) {
	const row = "root.prod   user-limit-factor   2   2.1"
	for i, value := range []string{"alice\n" + row, "alice&#10;" + row, "alice&#13;" + row, "alice\u202e", "a\u0085b\u2028" + row} {
		file := t.tuned("new.xml", property("root.adhoc.acl_submit_applications", value))
		o := t.yarn("apply", "--journal", t.journal(), file)
		if t.forged(o, "root.prod   user-limit-factor   2   2.1"); o.code == 0 && !strings.Contains(o.text, "acl_submit_applications") {
			t.harm("file %d: the change is not shown: %s", i, tail(o.text))
		}
	}
}

func xmlBombs(t *trial) {
	secret := t.file("secret", "root:x:0:0")
	head := "<?xml version=\"1.0\"?>\n"
	for name, text := range map[string]string{
		"entities": head + `<!DOCTYPE c [<!ENTITY a "` + strings.Repeat("x", 1000) + `"><!ENTITY b "` + strings.Repeat("&a;", 1000) + `"><!ENTITY c "` + strings.Repeat("&b;", 1000) +
			`">]><configuration>` + property("root.prod.user-limit-factor", "&c;") + "</configuration>",
		"external": head + `<!DOCTYPE c [<!ENTITY a SYSTEM "file://` + secret + `">]><configuration>` + property("root.adhoc.acl_submit_applications", "&a;") + "</configuration>",
		"include": head + `<configuration xmlns:xi="http://www.w3.org/2001/XInclude"><xi:include href="` + secret + `" parse="text"/>` +
			property("root.prod.user-limit-factor", "3") + "</configuration>",
		"deep":     head + "<configuration>" + strings.Repeat("<property>", 1_000_000),
		"large":    head + "<configuration>" + strings.Repeat(property("root.prod.user-limit-factor", "3"), 200_000) + "</configuration>",
		"variable": head + "<configuration>" + property("root.prod.user-limit-factor", "${yarn.scheduler.capacity.root.prod.user-limit-factor}${env.HOME}") + "</configuration>",
	} {
		file := t.file(name+".xml", text)
		for _, o := range []outcome{
			t.yarn("apply", "--journal", t.journal(), "--act", file),
			t.command(maxTime, "yarn", "prepare", "--file", file, "--queue", "root.batch", "--policy", "fbq"),
			t.yarn("eta", "--all", "--file", file),
		} {
			if t.wants(o, 1); strings.Contains(o.text, "root:x:0:0") || os.Getenv("HOME") != "" && strings.Contains(o.text, os.Getenv("HOME")+" ") {
				t.harm("%s: it has read something else: %s", name, tail(o.text))
			}
		}
	}
}

func jsonBombs(t *trial) {
	for _, text := range []string{strings.Repeat("[", 1_000_000), strings.Repeat(`{"runs":`, 500_000), `{"runs":[1,2]}`, `{"expected":[{"name":"` + "\\u001b[2J" + `","before":1e999}]}`, "null", ""} {
		file := t.file("expect.json", text)
		o := t.yarn("apply", "--journal", t.journal(), "--goal", "mean elapsed of all", "--expect", file, "root.prod.user-limit-factor=2.5")
		t.wants(o, 1)
	}
}

func marksInFile(t *trial) {
	file := t.tuned("new.xml", property("root.prod.yardmaster.journal", "here:/etc"), property("root.batch.yardmaster.journal.capacity", "here:/etc"),
		"<property><name>yarn.admin.acl</name><value>*</value></property>\n", "<property><name>hadoop.http.staticuser.user</name><value>root</value></property>\n")
	t.proxy.Asked()
	t.proxy.Inject(&endure.Fault{})
	o := t.yarn("apply", "--journal", t.journal(), "--act", file)
	for _, r := range t.proxy.Asked() {
		if strings.Contains(r.Body, "here:/etc") || strings.Contains(r.Body, "admin.acl") || strings.Contains(r.Body, "staticuser") {
			t.harm("it sent %s", r.Body)
		}
	}
	if o.code == 0 {
		t.set("root.prod", "user-limit-factor", "2")
	}
}
