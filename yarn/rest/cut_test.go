package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"
)

// An application whose name is larger than all others together does not end the list: the name is cut, the rest of it is read,
// and the client says whose it is. One that is too large even so is left out, and named too.
func TestLargeElements(t *testing.T) {
	const app = `{"id":"application_1_%04d","user":"%s","name":"%s","queue":"root.a","state":"RUNNING","runningContainers":3%s}`
	request := `{"resourceName":"` + strings.Repeat("n", 1000) + `","numContainers":1}`
	list := []string{
		fmt.Sprintf(app, 1, "alice", "first", ""),
		fmt.Sprintf(app, 2, "eve", strings.Repeat(`x\n`, 2<<20/3), ""),
		fmt.Sprintf(app, 3, `mal\nlory`, "many", `,"resourceRequests":[`+strings.Repeat(request+",", 9000)+request+`]`),
		fmt.Sprintf(app, 4, "bob", "last", ""),
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"apps":{"app":[%s]}}`, strings.Join(list, ","))
	}))
	defer s.Close()
	c, err := New(Options{RM: []string{s.URL}, RMRate: -1, Retries: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer c.CloseIdle()
	for range 2 {
		var got []string
		for a, err := range c.Apps(context.Background(), AppFilter{}) {
			if err != nil {
				t.Fatal(err)
			}
			if got = append(got, a.User); a.Queue != "root.a" || a.State != "RUNNING" || a.RunningContainers != 3 || len(a.Name) > maxText {
				t.Errorf("%s: queue %s, state %s, %d containers, a name of %d", a.ID, a.Queue, a.State, a.RunningContainers, len(a.Name))
			}
		}
		if want := []string{"alice", "eve", "bob"}; !slices.Equal(got, want) {
			t.Errorf("listed %q, want %q", got, want)
		}
	}
	want := []string{
		"application_1_0002, of user eve: its name of 2 MiB was cut to 64 KiB",
		`application_1_0003, of user "mal\nlory": it takes 8.9 MiB and is left out: at most 8 MiB are read`,
	}
	if got := c.Cuts(0); !slices.Equal(got, want) {
		t.Errorf("said %q, want %q", got, want)
	}
	if got := c.Cuts(2); got != nil {
		t.Errorf("said again %q", got)
	}
}

// What is remembered of cut elements is bounded.
func TestCutsAreBounded(t *testing.T) {
	var c Client
	for i := range 10 * maxCuts {
		c.cuts.add(Cut{ID: fmt.Sprint(i), Bytes: 1 << 20})
	}
	heard := len(c.Cuts(0))
	if heard != maxCuts+1 || c.Cuts(heard) != nil {
		t.Errorf("%d texts, then %q", heard, c.Cuts(heard))
	}
}

// Valid JSON stays valid and keeps its values, but for texts, of which a start is kept; in whatever pieces it comes.
func FuzzCutter(f *testing.F) {
	for _, s := range []string{
		`{"name":"0123456789abcdef","n":1}`, `["\u00e9\u00e9\u00e9\u00e9","\\\\\\\\\\\\\\\\\\\\","\"\"\"\"\"\"\"\"\"\""]`, `"ééééééééééé"`, `"😀😀😀😀😀"`,
		`{"a":"01234567\\"}`, `{"012345678901234":[1e9,null,true]}`, `"\ud83d\ude00\ud83d\ude00\ud83d\ude00"`, "\"\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\"", "\"" + strings.Repeat("\x80", 73) + "\"", `"\u"`, `"0123456\u00`,
	} {
		f.Add([]byte(s), uint8(8))
		f.Add([]byte(s), uint8(73))
	}
	f.Fuzz(func(t *testing.T, data []byte, keep uint8) {
		run := func(r io.Reader) ([]byte, *cutter) {
			c := &cutter{r: r, keep: int64(keep), most: int64(len(data)) + 1}
			out, err := io.ReadAll(c)
			if err != nil {
				t.Fatal(err)
			}
			return out, c
		}
		out, c := run(bytes.NewReader(data))
		if small, _ := run(iotest.OneByteReader(bytes.NewReader(data))); !bytes.Equal(out, small) {
			t.Fatalf("%q becomes %q, byte by byte %q", data, out, small)
		}
		if len(c.cut) == 0 && !c.dropping && !bytes.Equal(out, data) {
			t.Fatalf("%q becomes %q, but nothing was cut", data, out)
		}
		if !json.Valid(data) {
			return
		}
		if !json.Valid(out) {
			t.Fatalf("%q becomes %q, which is not JSON", data, out)
		}
		before, after := json.NewDecoder(bytes.NewReader(data)), json.NewDecoder(bytes.NewReader(out))
		before.UseNumber()
		after.UseNumber()
		for {
			a, err := before.Token()
			b, late := after.Token()
			if err != nil || late != nil {
				if err != late { //nolint:errorlint // both io.EOF
					t.Fatalf("%q becomes %q: %v, %v", data, out, err, late)
				}
				return
			}
			whole, _ := a.(string)
			if text, ok := b.(string); ok {
				start := strings.TrimSuffix(text, string(utf8.RuneError)) // half of a pair of escapes
				// A byte that is no text is decoded as a rune of three.
				if !strings.HasPrefix(whole, start) || len(text) > len(string(utf8.RuneError))*int(keep)+8*utf8.UTFMax {
					t.Fatalf("%q becomes %q", whole, text)
				}
			} else if a != b {
				t.Fatalf("%v becomes %v", a, b)
			}
		}
	})
}
