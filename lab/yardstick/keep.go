package yardstick

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// save keeps a record, compressed.
func save(file string, what any) error {
	text, err := json.Marshal(what)
	if err != nil {
		return fmt.Errorf("keeping %s: %w", file, err)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return fmt.Errorf("keeping %s: %w", file, err)
	}
	packed, err := pack(text)
	if err != nil {
		return fmt.Errorf("keeping %s: %w", file, err)
	}
	if err := os.WriteFile(file, packed, 0o644); err != nil {
		return fmt.Errorf("keeping %s: %w", file, err)
	}
	return nil
}

func pack(text []byte) ([]byte, error) {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(text); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// load reads a record that save kept.
func load(file string, into any) error {
	in, err := os.Open(file)
	if err != nil {
		return fmt.Errorf("reading a record: %w", err)
	}
	defer in.Close()
	unpacked, err := gzip.NewReader(in)
	if err != nil {
		return fmt.Errorf("reading %s: %w", file, err)
	}
	text, err := io.ReadAll(unpacked)
	if err != nil {
		return fmt.Errorf("reading %s: %w", file, err)
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("reading %s: %w", file, err)
	}
	return nil
}
