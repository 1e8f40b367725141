package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

func unpack(t *testing.T, r io.Reader) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	for archive := tar.NewReader(r); ; {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		if files[h.Name], err = io.ReadAll(archive); err != nil {
			t.Fatal(err)
		}
		if h.Typeflag == tar.TypeDir { // the state is the program's alone
			if h.Mode != 0o700 || h.Uid != user || h.Gid != user {
				t.Errorf("%+v", h)
			}
			continue
		}
		if strings.HasSuffix(h.Name, "program") != (h.Mode&0o111 != 0) || h.Uid != 0 || !h.ModTime.IsZero() && h.ModTime.Unix() != 0 {
			t.Errorf("%+v", h)
		}
	}
}

// Every blob has the name of its content, and the program is found from the index.
func TestImage(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	source, licence, program := write("main.go", "package main\n\nfunc main() {}\n"), write("LICENSE", "free"), filepath.Join(dir, "program")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", program, source)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+runtime.GOARCH)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out := filepath.Join(dir, "image.tar")
	var images [2][]byte
	for i := range images {
		if err := run(out, "site/name:1.2", "/var/lib/own", []string{program, licence}); err != nil {
			t.Fatal(err)
		}
		images[i], _ = os.ReadFile(out)
	}
	if len(images[0]) == 0 || !bytes.Equal(images[0], images[1]) {
		t.Error("not the same bytes again")
	}
	files := unpack(t, bytes.NewReader(images[0]))
	for name, text := range files {
		if hash, blob := strings.CutPrefix(name, "blobs/sha256/"); blob && hash != digest(text) {
			t.Errorf("%s has the digest %s", name, digest(text))
		}
	}
	type descriptor struct {
		Digest      string
		Size        int
		Annotations map[string]string
	}
	open := func(d descriptor, v any) []byte {
		text := files["blobs/sha256/"+strings.TrimPrefix(d.Digest, "sha256:")]
		if len(text) != d.Size || d.Size == 0 {
			t.Errorf("%v has %d bytes", d, len(text))
		}
		if v != nil {
			if err := json.Unmarshal(text, v); err != nil {
				t.Fatal(err)
			}
		}
		return text
	}
	var index struct{ Manifests []descriptor }
	var manifest struct {
		Config descriptor
		Layers []descriptor
	}
	var config struct {
		Architecture, OS string
		RootFS           struct {
			DiffIDs []string `json:"diff_ids"`
		}
		Config struct {
			Entrypoint, Env  []string
			User, WorkingDir string
			Volumes          map[string]struct{}
		}
	}
	if err := json.Unmarshal(files["index.json"], &index); err != nil {
		t.Fatal(err)
	}
	if name := index.Manifests[0].Annotations["io.containerd.image.name"]; name != "docker.io/site/name:1.2" {
		t.Error(name)
	}
	open(index.Manifests[0], &manifest)
	open(manifest.Config, &config)
	if config.Architecture != runtime.GOARCH || config.OS != "linux" || config.Config.User != "65532:65532" || !slices.Equal(config.Config.Entrypoint, []string{"/program"}) {
		t.Errorf("%+v", config)
	}
	if _, volume := config.Config.Volumes["/var/lib/own"]; !volume || config.Config.WorkingDir != "/var/lib/own" || !slices.Contains(config.Config.Env, "HOME=/var/lib/own") {
		t.Errorf("the state: %+v", config)
	}
	z, err := gzip.NewReader(bytes.NewReader(open(manifest.Layers[0], nil)))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	if config.RootFS.DiffIDs[0] != "sha256:"+digest(plain) {
		t.Error("the layer's digest")
	}
	layer := unpack(t, bytes.NewReader(plain))
	want, _ := os.ReadFile(program)
	if !slices.Equal(slices.Sorted(maps.Keys(layer)), []string{"LICENSE", "program", "var/lib/own/"}) || !bytes.Equal(layer["program"], want) {
		t.Errorf("the layer has %v", slices.Sorted(maps.Keys(layer)))
	}

	if err := run(out, "n:1", "", []string{licence}); err == nil {
		t.Error("packed what is no program")
	}
	for name, want := range map[string]string{"a:1": "docker.io/library/a:1", "r.io/a:1": "r.io/a:1", "localhost/a:1": "localhost/a:1", "r:5000/a:1": "r:5000/a:1"} {
		if got := familiar(name); got != want {
			t.Errorf("%s: %s", name, got)
		}
	}
}
