// Package hostile has what tests of readers share: texts that try to make a reader use far more memory than they have bytes,
// and a measure of what was used.
package hostile

import (
	"fmt"
	"runtime"
	"strings"
)

// Allocated is how many bytes f allocates, freed or not. Nothing else may run beside it.
func Allocated(f func()) int64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return int64(after.TotalAlloc - before.TotalAlloc)
}

// fill repeats a unit up to n bytes in all, between a head and a tail.
func fill(head, unit, tail string, n int) string {
	return head + strings.Repeat(unit, max((n-len(head)-len(tail))/len(unit), 1)) + tail
}

// number is fill with a unit that takes a number.
func number(head, unit, tail string, n int) string {
	var b strings.Builder
	b.WriteString(head)
	for i := 0; b.Len()+len(tail) < n; i++ {
		fmt.Fprintf(&b, unit, i)
	}
	return b.String() + tail
}

// YAML is texts of some n bytes.
func YAML(n int) map[string]string {
	steps := func(sign string) string {
		var b strings.Builder
		for i := 0; b.Len() < n; i++ {
			b.WriteString(strings.Repeat(" ", i) + sign + "\n")
		}
		return b.String()
	}
	laughs := "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
	for i := 1; i < 12; i++ {
		laughs += fmt.Sprintf("a%d: &a%d [%s]\n", i, i, strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 10))
	}
	path := ""
	for i := range 8 {
		path += strings.Repeat(" ", i) + strings.Repeat("k", 60) + ":\n"
	}
	return map[string]string{
		"[": fill("", "[", "", n), "[]": strings.Repeat("[", n/2) + strings.Repeat("]", n/2), "{": fill("", "{", "", n), "{a:": fill("", "{a: ", "", n),
		"[a:": fill("", "[a: ", "", n), "- - -": fill("", "- ", "", n), "? ? ?": fill("", "? ", "", n), ": : :": fill("", ": ", "", n), "[-": fill("[", "- ", "]", n),
		"stairs of keys": steps("a:"), "stairs of dashes": steps("-"), "stairs of questions": steps("? a"),
		"keys": number("", "k%d: 1\n", "", n), "keys of lists": number("", "k%d:\n- 1\n", "", n), "questions": number("", "? k%d\n: 1\n", "", n), "keys in a flow": number("{", "k%d: 1, ", "}", n),
		"long key": fill(strings.Repeat("k", n/2)+":\n", "- 1\n", "", n), "long quoted key": fill(`"`+strings.Repeat("k", n/2)+"\": [", "1,", "]\n", n),
		"long path": fill(path+"        x: [", "1,", "]\n", n), "laughs": laughs, "anchors": fill("", "&a ", "", n), "tags": fill("", "!a ", "", n), "aliases": fill("", "*a ", "", n),
		"no items": fill("", "-\n", "", n), "no values": fill("", "- a:\n", "", n), "no flow values": fill("{", "a,", "}", n), "items": fill("[", "a,", "]", n), "list": fill("", "- a\n", "", n),
		"maps": fill("", "- a: 1\n", "", n), "empty maps": fill("[", "{},", "]", n), "literals": fill("", "- >-\n", "", n), "texts": fill("", "- |\n  x\n", "", n),
		"quotes": fill("", `"`, "", n), "comments": fill("", "#\n", "", n), "documents": fill("", "---\n", "", n), "word": fill("", "a", "", n), "spaces": fill("", " ", "", n), "reserved": fill("", "@", "", n),
		"directives": fill("", "%a\n", "", n), "escapes": fill(`a: "`, `\n`, `"`, n),
	}
}

// JSON is texts of some n bytes: values where others are expected, under each of the paths (keys with dots between).
func JSON(n int, paths ...string) map[string]string {
	out := map[string]string{}
	for _, p := range append(paths, "") {
		head, tail := "", ""
		for _, k := range strings.Split(p, ".") {
			if k != "" {
				head, tail = head+`{"`+k+`":`, "}"+tail
			}
		}
		for name, text := range map[string]string{
			"[[[":               head + strings.Repeat("[", n),
			`{"a":{"a":`:        head + strings.Repeat(`{"a":`, n/5),
			"numbers":           fill(head+"[", "0,", "0]"+tail, n),
			"objects":           fill(head+"[", "{},", "{}]"+tail, n),
			"small objects":     fill(head+"[", `{"a":0},`, "{}]"+tail, n),
			"lists":             fill(head+"[", "[],", "[]]"+tail, n),
			"texts":             fill(head+"[", `"",`, `""]`+tail, n),
			"nulls":             fill(head+"[", "null,", "null]"+tail, n),
			"keys":              number(head+"{", `"%d":0,`, `"":0}`+tail, n),
			"a key again":       fill(head+"{", `"a":0,`, `"a":0}`+tail, n),
			"long text":         fill(head+`"`, "a", `"`+tail, n),
			"long number":       fill(head, "1", tail, n),
			"escapes":           fill(head+`"`, `\u0000`, `"`+tail, n),
			"deep and wide":     fill(head+"[", strings.Repeat("[", 60)+strings.Repeat("]", 60)+",", "0]"+tail, n),
			"values one by one": fill("", head+"0"+tail+"\n", "", n),
		} {
			out[strings.TrimSpace(p+" "+name)] = text
		}
	}
	return out
}

// XML is texts of some n bytes in an outermost element.
func XML(n int, root string) map[string]string {
	head, tail := "<"+root+">", "</"+root+">"
	property := "<property><name>%d</name><value>"
	return map[string]string{
		"nested": fill(head, "<a>", "", n), "elements": fill(head, "<a/>", tail, n), "attributes": number("<"+root, ` a%d=""`, "/>", n), "spread attributes": fill(head, `<a b="" c="" d="" e=""/>`, tail, n),
		"text": fill(head, "a", tail, n), "comments": fill(head, "<!---->", tail, n), "entities": fill(head, "&lt;", tail, n), "cdata": fill(head, "<![CDATA[]]>", tail, n), "processing": fill(head, "<?a?>", tail, n),
		"laughs":     `<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;">]>` + head + strings.Repeat("&b;", n/3) + tail,
		"properties": number(head, property+"</value></property>", tail, n), "queues": number(head, `<queue name="q%d"/>`, tail, n),
		"a tag without end": fill("<", "a", "", n), "names in turn": number(head, "<a%d/>", tail, n),
		"variables":        number(head+"<property><name>x</name><value>"+strings.Repeat("x", n/2)+"</value></property>", property+"a${x}</value></property>", tail, n),
		"deep queue names": number(head, "<property><name>yarn.scheduler.capacity."+strings.Repeat("q.", 60)+"%d</name><value>1</value></property>", tail, n),
	}
}

// Lines is texts of some n bytes for readers of lines with fields between marks.
func Lines(n int, mark string, fields int) map[string]string {
	row := func(field string) string { return strings.Repeat(field+mark, fields-1) + field + "\n" }
	return map[string]string{
		"no line end": fill("", "1", "", n), "line ends": fill("", "\n", "", n), "marks": fill("", mark, "", n), "zeroes": fill("", row("0"), "", n),
		"large": fill("", row("1152921504606846976"), "", n), "words": fill("", row("a"), "", n), "empty": fill("", row(""), "", n), "rows": number("", "job%d"+mark+row("1"), "", n),
	}
}
