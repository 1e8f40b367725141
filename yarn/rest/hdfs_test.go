package rest_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/yarn/rest"
)

func TestFiles(t *testing.T) {
	data := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Has("user.name") {
			t.Error("the address of a DataNode carries its own permission")
		}
		_, _ = io.WriteString(w, "Avro-Binary\n")
	})
	standby := serve(t, say(403, json200, `{"RemoteException":{"exception":"StandbyException","message":"Operation category READ is not supported in state standby"}}`))
	name := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("user.name") != "ann" {
			t.Error(r.URL)
		}
		switch op := r.URL.Query().Get("op"); {
		case strings.HasSuffix(r.URL.Path, "missing"):
			say(404, json200, `{"RemoteException":{"exception":"FileNotFoundException","message":"File /missing does not exist.","javaClassName":"java.io.FileNotFoundException"}}`)(w, r)
		case op == "LISTSTATUS" && r.URL.Path == "/webhdfs/v1/done/a b%":
			_, _ = io.WriteString(w, `{"FileStatuses":{"FileStatus":[{"pathSuffix":"x.jhist","type":"FILE","length":7},{"pathSuffix":"d","type":"DIRECTORY"}]}}`)
		case op == "OPEN":
			http.Redirect(w, r, data.URL+"/webhdfs/v1"+r.URL.Path+"?op=OPEN&delegation=xyz", http.StatusTemporaryRedirect)
		default:
			t.Error(r.URL)
		}
	})
	c := client(t, rest.Options{NameNodes: []string{standby.URL, name.URL}, Auth: rest.User("ann"), Retries: -1})
	f := c.Files()
	list, err := all(f.List(t.Context(), "/done/a b%/"))
	if err != nil || len(list) != 2 || list[0].Length != 7 || !list[1].IsDir() {
		t.Error(list, err)
	}
	r, err := f.Open(t.Context(), "done/x.jhist")
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if err != nil || string(text) != "Avro-Binary\n" {
		t.Errorf("%q %v", text, err)
	}
	_ = r.Close()
	if _, err := f.Open(t.Context(), "/missing"); !errors.Is(err, rest.ErrNotFound) || !strings.Contains(err.Error(), "File /missing does not exist.") {
		t.Error(err)
	}
}

func TestAMGone(t *testing.T) {
	for to, want := range map[string]string{
		"http://jhs:19888/jobhistory/job/job_1_0001":    "the application has ended: its AM is gone, ask the history server (http://jhs:19888/jobhistory/job/job_1_0001)",
		"http://rm:8088/cluster/app/application_1_0001": "the application has ended, or its AM is not there yet",
	} {
		s := serve(t, say(302, "", "", "Location", to))
		_, err := client(t, quick(s.URL)).AM("application_1_0001").Job(t.Context(), "job_1_0001")
		if !errors.Is(err, rest.ErrEnded) || !strings.Contains(err.Error(), want) {
			t.Error(err)
		}
	}
}

// No second sees more requests to the ResourceManager than allowed, however many ask.
func TestPace(t *testing.T) {
	var mu sync.Mutex
	var at []time.Time
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		at = append(at, time.Now())
		mu.Unlock()
		_, _ = io.WriteString(w, `{"clusterMetrics":{}}`)
	})
	o := quick(s.URL)
	o.RMRate = 20
	c := client(t, o)
	began := time.Now()
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 3 {
				if _, err := c.Metrics(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if span := at[len(at)-1].Sub(began); len(at) != 12 || span < 11*50*time.Millisecond {
		t.Errorf("%d requests within %s at 20 a second", len(at), span)
	}
}

// The history server and the file system see a bounded number of requests at a time.
func TestParallel(t *testing.T) {
	var now, most atomic.Int64
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		n := now.Add(1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		for end := time.Now().Add(20 * time.Second); most.Load() < 3 && time.Now().Before(end); { // until the others are here, too
			time.Sleep(time.Millisecond)
		}
		time.Sleep(5 * time.Millisecond) // for a fourth
		if strings.Contains(r.URL.Path, "bad") {
			w.WriteHeader(http.StatusNotFound)
		} else {
			_, _ = io.WriteString(w, `{"job":{}}`)
		}
		now.Add(-1)
	})
	c := client(t, rest.Options{History: s.URL, Parallel: 3})
	var wg sync.WaitGroup
	for i := range 12 {
		wg.Go(func() {
			id := "job_1_0001"
			if i%3 == 0 {
				id = "bad" // a failure gives its place back, too
			}
			_, _ = c.History().Job(t.Context(), id)
		})
	}
	wg.Wait()
	if most.Load() != 3 {
		t.Errorf("%d at a time, want 3", most.Load())
	}
}

// A walk through folders asks for the next list while it reads one: that must not wait for itself.
func TestListsWithinLists(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"FileStatuses":{"FileStatus":[{"pathSuffix":"a","type":"DIRECTORY"},{"pathSuffix":"b","type":"DIRECTORY"}]}}`)
	})
	c := client(t, rest.Options{NameNodes: []string{s.URL}, Parallel: 1})
	n := 0
	var walk func(folder string, depth int)
	walk = func(folder string, depth int) {
		for x, err := range c.Files().List(t.Context(), folder) {
			if err != nil {
				t.Fatal(err)
			}
			if n++; depth > 1 {
				walk(folder+"/"+x.Name, depth-1)
			}
		}
	}
	walk("", 6)
	if n != 126 {
		t.Errorf("%d entries, want 126", n)
	}
}
