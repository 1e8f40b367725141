package yard

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/yardmaster/yardmaster/internal/securefile"
)

// Whom an access list lets read the file before a change may read it after.
func TestAccessListIsKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fair-scheduler.xml")
	if err := os.WriteFile(path, []byte("<allocations/>"), 0o640); err != nil {
		t.Fatal(err)
	}
	list := binary.LittleEndian.AppendUint32(nil, 2) // its version
	for _, e := range [][3]uint32{{0x01, 6, 0xffffffff}, {0x02, 4, 12345}, {0x04, 4, 0xffffffff}, {0x10, 4, 0xffffffff}, {0x20, 0, 0xffffffff}} {
		list = binary.LittleEndian.AppendUint16(list, uint16(e[0]))
		list = binary.LittleEndian.AppendUint16(list, uint16(e[1]))
		list = binary.LittleEndian.AppendUint32(list, e[2])
	}
	const name = "system.posix_acl_access"
	if err := syscall.Setxattr(path, name, list, 0); err != nil {
		t.Skip("no access lists here:", err)
	}
	o, err := (&editedFile{path: path, kind: allocationFile}).open()
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	if err := o.replace([]byte("<allocations></allocations>")); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 1024)
	if n, err := syscall.Getxattr(path, name, got); err != nil || !bytes.Equal(got[:n], list) {
		t.Errorf("%x, %v; want %x", got[:max(n, 0)], err, list)
	}
}

// Nobody writes to the pipe that stands in the file's place: to read it must not take for ever.
func TestAPipeIsNotRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fair-scheduler.xml")
	if err := syscall.Mkfifo(path, 0o644); err != nil {
		t.Skip(err)
	}
	read := make(chan error, 1)
	go func() {
		_, _, err := (&editedFile{path: path, kind: allocationFile}).read()
		read <- err
	}()
	select {
	case err := <-read:
		if !errors.Is(err, securefile.ErrInsecure) {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Error("still waiting for somebody to write")
	}
}
