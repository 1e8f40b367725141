package rest

import (
	"context"
	"errors"
	"io"
	"iter"
	"net/url"
	"path"
	"strings"
)

// Files reads a Hadoop file system over WebHDFS.
type Files struct{ c *Client }

// Files is the file system behind the NameNodes.
func (c *Client) Files() *Files { return &Files{c} }

func (f *Files) call(what, name, op string) *call {
	name = path.Clean("/" + strings.TrimPrefix(name, "/"))
	return &call{what: what + " " + name, server: f.c.files, path: "/webhdfs/v1" + strings.TrimSuffix(name, "/"), query: url.Values{"op": {op}}}
}

// List lists a folder, or the one file of that name.
func (f *Files) List(ctx context.Context, folder string) iter.Seq2[FileStatus, error] {
	return list[FileStatus](ctx, f.c, f.call("list", folder, "LISTSTATUS"), "FileStatuses", "FileStatus")
}

// Open reads a file. The caller should close it soon: it holds one of the few slots at the file system.
func (f *Files) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	k := f.call("read", name, "OPEN")
	k.accept = "*/*"
	var open *answer
	err := f.c.retry(ctx, k, func() error {
		a, err := f.c.once(ctx, k)
		open = a
		return err
	})
	if err != nil {
		return nil, err
	}
	return &file{open, k}, nil
}

// file adds the file's name to its errors.
type file struct {
	*answer
	k *call
}

func (f *file) Read(p []byte) (int, error) {
	n, err := f.body.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = &CallError{f.k.what, plain(f.url), err}
	}
	return n, err
}
