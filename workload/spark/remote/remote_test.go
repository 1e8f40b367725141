package remote

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/yardmaster/yardmaster/workload/spark"
)

func files(t *testing.T, src spark.Source) (all []spark.File, err error) {
	t.Helper()
	for f, err := range src(t.Context()) {
		if err != nil {
			return all, err
		}
		all = append(all, f)
	}
	return all, nil
}

func read(t *testing.T, f spark.File) string {
	t.Helper()
	r, err := f.Open(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// The example of Amazon's documentation: a listing with the prefix J, at most two.
func TestSignature(t *testing.T) {
	u, _ := url.Parse("https://examplebucket.s3.amazonaws.com/?max-keys=2&prefix=J")
	r := &http.Request{Method: http.MethodGet, URL: u, Header: http.Header{}}
	s := &S3{Key: "AKIAIOSFODNN7EXAMPLE", Secret: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"}
	s.sign(r, "us-east-1", time.Date(2013, 5, 24, 0, 0, 0, 0, time.UTC))
	if got := r.Header.Get("Authorization"); !strings.HasSuffix(got, "Signature=34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7") {
		t.Error(got)
	}
}

func TestS3(t *testing.T) {
	objects := map[string]string{"spark/app 1+é": "one", "spark/app2.zstd": "two", "spark/": "", "other": "three"}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if a := r.Header.Get("Authorization"); !strings.Contains(a, "AWS4-HMAC-SHA256 Credential=key/") || strings.Contains(r.URL.String()+a, "verysecret") {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		if key, ok := strings.CutPrefix(r.URL.Path, "/logs/"); ok && key != "" {
			fmt.Fprint(w, objects[key])
			return
		}
		q := r.URL.Query()
		if q.Get("list-type") != "2" || q.Get("prefix") != "spark/" {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		if q.Get("continuation-token") == "" {
			fmt.Fprint(w, `<ListBucketResult><Contents><Key>spark/</Key><Size>0</Size></Contents><Contents><Key>spark/app 1+é</Key><Size>3</Size></Contents>
				<IsTruncated>true</IsTruncated><NextContinuationToken>a+b/=</NextContinuationToken></ListBucketResult>`)
			return
		}
		if q.Get("continuation-token") != "a+b/=" {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		fmt.Fprint(w, `<ListBucketResult><Contents><Key>spark/app2.zstd</Key><Size>3</Size></Contents><IsTruncated>false</IsTruncated></ListBucketResult>`)
	}))
	defer srv.Close()
	env := map[string]string{"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "verysecret", "AWS_SESSION_TOKEN": "token"}
	s := FromEnvironment(srv.URL, func(k string) string { return env[k] })
	all, err := files(t, s.Logs("logs", "spark/"))
	if err != nil || len(all) != 2 || read(t, all[0]) != "one" || read(t, all[1]) != "two" || all[1].Size != 3 {
		t.Errorf("%v %v", all, err)
	}
	_, err = files(t, FromEnvironment(srv.URL, func(string) string { return "" }).Logs("logs", "spark/"))
	if err == nil || !strings.Contains(err.Error(), "AWS_ACCESS_KEY_ID") {
		t.Error(err)
	}
	if _, err := files(t, FromEnvironment("store:9000", os.Getenv).Logs("logs", "")); err == nil {
		t.Error("an endpoint that is no URL is taken")
	}
}

// A connection that breaks off is an error, not the end of a log, whatever the codec.
func TestBroken(t *testing.T) {
	log, err := os.ReadFile("../testdata/report.log")
	if err != nil {
		t.Fatal(err)
	}
	var gz, zst bytes.Buffer
	g := gzip.NewWriter(&gz)
	z, _ := zstd.NewWriter(&zst)
	for _, w := range []io.WriteCloser{g, z} {
		if _, err := w.Write(log); err != nil || w.Close() != nil {
			t.Fatal(err)
		}
	}
	for name, data := range map[string][]byte{"plain": log, "gzip": gz.Bytes(), "zstd": zst.Bytes()} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/logs/app" {
				w.Header().Set("Content-Length", fmt.Sprint(len(data)))
				_, _ = w.Write(data[:len(data)/2])
				return
			}
			fmt.Fprintf(w, `<ListBucketResult><Contents><Key>app</Key><Size>%d</Size></Contents></ListBucketResult>`, len(data))
		}))
		all, err := files(t, FromEnvironment(srv.URL, func(string) string { return "" }).Logs("logs", ""))
		if err != nil || len(all) != 1 {
			t.Fatal(all, err)
		}
		if a, err := spark.Logs(all)[0].Read(t.Context(), nil); !errors.Is(err, spark.ErrNoAnswer) || a != nil || errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%s: %v, %v", name, a, err)
		}
		srv.Close()
	}
}

// A server that is not there, or says nothing more, is no news about a log.
func TestNoAnswer(t *testing.T) {
	defer func(was time.Duration) { wait = was }(wait)
	wait = 50 * time.Millisecond
	hold := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "[")
		_ = http.NewResponseController(w).Flush()
		<-hold
	}))
	if _, err := files(t, Server(srv.URL)); !errors.Is(err, spark.ErrNoAnswer) || !strings.Contains(err.Error(), "stopped") {
		t.Error(err)
	}
	close(hold)
	srv.Close()
	if _, err := files(t, Server(srv.URL)); !errors.Is(err, spark.ErrNoAnswer) {
		t.Error(err)
	}
}

// What a server says for now is told from what it would say again, and what to do about that. An answer about who asks is one to every request: it says nothing about a
// log.
func TestStatus(t *testing.T) {
	status, text := 0, ""
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text)
	}))
	defer srv.Close()
	for _, c := range []struct {
		status         int
		store, history string // what to do; "": ask again
	}{
		{429, "", ""}, {500, "", "from their folder"}, {503, "", ""}, {301, "AWS_REGION to the bucket's region", "301"}, {307, "AWS_REGION to the bucket's region", "307"},
		{404, "404", "404"},
	} {
		status = c.status
		for want, src := range map[string]spark.Source{c.store: FromEnvironment(srv.URL, func(string) string { return "" }).Logs("b", ""), c.history + " ": Server(srv.URL)} {
			want = strings.TrimSpace(want)
			if _, err := files(t, src); err == nil || errors.Is(err, spark.ErrNoAnswer) != (want == "") || !strings.Contains(err.Error(), want) {
				t.Errorf("%d: %v, want %q", c.status, err, want)
			}
		}
	}
	const code = `<?xml version="1.0"?><Error><Code>%s</Code></Error>`
	for _, c := range []struct {
		status int
		code   string
		all    bool
	}{{400, "ExpiredToken", true}, {401, "", true}, {403, "InvalidAccessKeyId", true}, {403, "SignatureDoesNotMatch", true}, {403, "AccessDenied", false}, {403, "", false}} {
		status, text = c.status, fmt.Sprintf(code, c.code)
		_, err := files(t, FromEnvironment(srv.URL, func(string) string { return "" }).Logs("b", ""))
		if err == nil || errors.Is(err, spark.ErrNoAnswer) != c.all || !strings.Contains(err.Error(), "AWS_") {
			t.Errorf("%+v: %v", c, err)
		}
	}
	status = 401
	if _, err := files(t, Server(srv.URL)); !errors.Is(err, spark.ErrNoAnswer) || !strings.Contains(err.Error(), "from their folder") {
		t.Error(err)
	}
}

// A history server gives archives; of several attempts the last counts.
func TestServer(t *testing.T) {
	log, err := os.ReadFile("../testdata/report.log")
	if err != nil {
		t.Fatal(err)
	}
	var archive bytes.Buffer
	z := zip.NewWriter(&archive)
	for _, name := range []string{"app_1", "eventlog_v2_app_2/appstatus_app_2", "eventlog_v2_app_2/events_1_app_2"} {
		w, err := z.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = w.Write(log)
	}
	_ = z.Close()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/api/v1/applications":
			fmt.Fprint(w, `[{"id":"app","name":"x","attempts":[{"attemptId":"1"}]},{"name":"none"}]`)
		case "/api/v1/applications/app/logs":
			_, _ = w.Write(archive.Bytes())
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	defer srv.Close()
	all, err := files(t, Server(srv.URL+"/"))
	if err != nil || len(all) != 1 {
		t.Fatal(all, err)
	}
	logs := spark.Logs(all)
	a, err := logs[0].Read(t.Context(), nil)
	if err != nil || a.End == 0 {
		t.Errorf("%+v %v", a, err)
	}
	if _, err := files(t, Server(srv.URL+"/elsewhere")); err == nil || !strings.Contains(err.Error(), "404") {
		t.Error(err)
	}
}

// Answers of a hostile server are errors.
func TestHostile(t *testing.T) {
	for _, body := range []string{"", "{", "[", `[{"id":"a"},`, `[{"id":"a"}`, "<html>", "[{]", `[{"id":1}]`, "<ListBucketResult><Contents>", strings.Repeat("<a>", 1<<16), strings.Repeat("[", 1<<16)} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, body) }))
		if _, err := files(t, Server(srv.URL)); err == nil {
			t.Errorf("%.20s: a list of applications", body)
		}
		if all, err := files(t, FromEnvironment(srv.URL, func(string) string { return "" }).Logs("b", "")); err == nil && len(all) > 0 {
			t.Errorf("%.20s: a list of objects", body)
		}
		srv.Close()
	}
}
