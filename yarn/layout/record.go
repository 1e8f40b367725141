package layout

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/yardmaster/yardmaster/internal/securefile"
	"github.com/yardmaster/yardmaster/steer/drive"
	"github.com/yardmaster/yardmaster/yarn/queues"
)

// record is what versions before 0.1 kept of a prepared queue, in a file of its own instead of a journal.
type record struct {
	Queue string       `json:"queue"` // with its cluster
	At    time.Time    `json:"at"`
	Plan  *queues.Plan `json:"plan"`
}

// importRecord reads the record of an earlier version, if there is one. Once the journal may be written, it replaces the record. The record says what is written to the
// ResourceManager, so nobody else may have written it.
func (p *Preparer) importRecord() error {
	path := p.dir + ".json"
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var data []byte
	err := securefile.CheckDir(filepath.Dir(path))
	if err == nil {
		data, err = securefile.ReadFile(path, 4<<20)
	}
	if err == nil {
		data, err = p.unseal(data)
	}
	var r record
	if err == nil {
		err = json.Unmarshal(data, &r)
	}
	if err == nil && r.Plan == nil {
		err = errors.New("it is not the record of this queue")
	}
	if err == nil {
		err = p.accept(r.Queue, r.Plan)
	}
	if err != nil {
		return fmt.Errorf("the record %s: %w", path, err)
	}
	p.at = r.At
	if p.journal == nil {
		return nil
	}
	v, err := p.tree.value()
	if err == nil {
		err = p.journal.Append(drive.Entry{At: r.At, What: drive.Before, Engine: p.tree.Identity(), Knob: p.tree.knob(), Original: &drive.Value{}, Old: &drive.Value{}, New: &v, Why: "yarn prepare"})
	}
	if err != nil {
		return err
	}
	return os.Remove(path)
}

// unseal checks the checksum of a record. The first versions wrote none.
func (p *Preparer) unseal(data []byte) ([]byte, error) {
	object, err := drive.Unseal(bytes.TrimSpace(data))
	switch {
	case err == nil:
		return object, nil
	case !errors.Is(err, drive.ErrUnsealed):
		return nil, fmt.Errorf("%w: it was edited or damaged, so nothing is written from it. Find out what the old settings were, and set them by hand", err)
	case !p.Force:
		return nil, errors.New("it has no checksum: it was edited, or an earlier version wrote it. Nothing is written from it. If the old settings in it are right, run the same command with --force")
	}
	return data, nil
}
