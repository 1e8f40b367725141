// Image packs a static binary into a container image, without Docker and without a base: an archive that docker load, ctr images import, crane push and skopeo read.
// The same input gives the same bytes.
//
//	go run ./image -o yardmaster-controller.tar -name yardmaster-controller:latest yardmaster-controller LICENSE NOTICE
//
// The first file is the program; the others lie beside it. With -state DIR it has a folder of its own, as home and working directory, for a volume.
package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	out, name := flag.String("o", "image.tar", "archive to write"), flag.String("name", "", "name and tag of the image")
	state := flag.String("state", "", "folder that belongs to the program, such as /var/lib/program")
	flag.Parse()
	err := errors.New("say -name NAME:TAG, and the program")
	if *name != "" && flag.NArg() > 0 {
		err = run(*out, *name, *state, flag.Args())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

func run(out, name, state string, files []string) error {
	f, err := os.CreateTemp(filepath.Dir(out), ".image-")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) //nolint:errcheck // gone if all went well
	if err := errors.Join(write(f, name, state, files), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), out)
}

type object = map[string]any

const user = 65532 // as in other images without a base: nobody's account

// write writes an OCI image layout, and Docker's manifest for programs that know no other.
func write(to io.Writer, name, state string, files []string) error {
	info, err := buildinfo.ReadFile(files[0])
	if err != nil {
		return err
	}
	system := map[string]string{}
	for _, s := range info.Settings {
		system[s.Key] = s.Value
	}
	if system["CGO_ENABLED"] != "0" || system["GOOS"] != "linux" {
		return fmt.Errorf("%s is not static and for Linux: build it with CGO_ENABLED=0 GOOS=linux", files[0])
	}
	var plain, layer bytes.Buffer
	content := tar.NewWriter(&plain)
	for i, file := range files {
		text, err := os.ReadFile(file)
		if err == nil {
			err = add(content, filepath.Base(file), text, 0o444|0o111*int64(max(0, 1-i)))
		}
		if err != nil {
			return err
		}
	}
	settings := object{"Entrypoint": []string{"/" + filepath.Base(files[0])}, "User": fmt.Sprintf("%d:%[1]d", user), "WorkingDir": "/"}
	if state != "" {
		own := &tar.Header{Name: strings.TrimPrefix(state, "/") + "/", Mode: 0o700, Uid: user, Gid: user, Typeflag: tar.TypeDir, Format: tar.FormatUSTAR}
		if err := content.WriteHeader(own); err != nil {
			return err
		}
		settings["WorkingDir"], settings["Volumes"], settings["Env"] = state, object{state: object{}}, []string{"HOME=" + state, "XDG_STATE_HOME=" + state}
	}
	if err := content.Close(); err != nil {
		return err
	}
	packed, err := gzip.NewWriterLevel(&layer, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := packed.Write(plain.Bytes()); err != nil {
		return err
	}
	if err := packed.Close(); err != nil {
		return err
	}

	archive := tar.NewWriter(to)
	blob := func(kind string, text []byte) (object, error) {
		return object{"mediaType": "application/vnd.oci.image." + kind, "digest": "sha256:" + digest(text), "size": len(text)}, add(archive, "blobs/sha256/"+digest(text), text, 0o444)
	}
	config, err := json.Marshal(object{
		"architecture": system["GOARCH"], "os": "linux", "rootfs": object{"type": "layers", "diff_ids": []string{"sha256:" + digest(plain.Bytes())}},
		"config": settings,
	})
	if err != nil {
		return err
	}
	configBlob, err1 := blob("config.v1+json", config)
	layerBlob, err2 := blob("layer.v1.tar+gzip", layer.Bytes())
	manifest, err3 := json.Marshal(object{"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json", "config": configBlob, "layers": []object{layerBlob}})
	index, err4 := blob("manifest.v1+json", manifest)
	_, tag, _ := strings.Cut(filepath.Base(name), ":")
	index["annotations"] = object{"io.containerd.image.name": familiar(name), "org.opencontainers.image.ref.name": tag}
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return err
	}
	for _, file := range []struct {
		name string
		of   any
	}{
		{"oci-layout", object{"imageLayoutVersion": "1.0.0"}},
		{"index.json", object{"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": []object{index}}},
		{"manifest.json", []object{{"Config": "blobs/sha256/" + digest(config), "RepoTags": []string{name}, "Layers": []string{"blobs/sha256/" + digest(layer.Bytes())}}}},
	} {
		text, err := json.Marshal(file.of)
		if err == nil {
			err = add(archive, file.name, text, 0o444)
		}
		if err != nil {
			return err
		}
	}
	return archive.Close()
}

func add(to *tar.Writer, name string, text []byte, mode int64) error {
	if err := to.WriteHeader(&tar.Header{Name: name, Mode: mode, Size: int64(len(text)), Typeflag: tar.TypeReg, Format: tar.FormatUSTAR}); err != nil {
		return err
	}
	_, err := to.Write(text)
	return err
}

func digest(text []byte) string { return fmt.Sprintf("%x", sha256.Sum256(text)) }

// familiar is a name as the kubelet writes it: Docker's registry goes without saying.
func familiar(name string) string {
	registry, _, nested := strings.Cut(name, "/")
	switch {
	case !nested:
		return "docker.io/library/" + name
	case !strings.ContainsAny(registry, ".:") && registry != "localhost":
		return "docker.io/" + name
	}
	return name
}
