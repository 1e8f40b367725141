// Package hostlock is a named lock per machine, independent of account and file locations.
//
// On Linux a name is a socket in the abstract namespace: there is no file that could be a link, be left behind or belong to the wrong account,
// the system frees the name when its process ends, however it ends, and reports which process holds it. Any account can take any name, and names
// are not secret: a held name is a reason not to begin something, never a reason not to undo it, unless the holder is Trusted. Containers with
// their own network namespace do not see each other. On other systems there is no lock.
package hostlock

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/user"
	"strconv"
)

// HeldError says who holds a name.
type HeldError struct {
	PID int // 0: not known, or not visible from this container
	UID int // -1: not known
}

// Trusted says whether the holder is root or runs under this process's own account: nobody else could impersonate it.
func (e *HeldError) Trusted() bool { return e.UID == 0 || e.UID == os.Geteuid() }

func (e *HeldError) Error() string {
	if e.UID < 0 {
		return "another process of this machine has it"
	}
	who := "uid " + strconv.Itoa(e.UID)
	if u, err := user.LookupId(strconv.Itoa(e.UID)); err == nil {
		who = u.Username
	}
	if e.PID == 0 {
		return fmt.Sprintf("a process of account %s has it", who)
	}
	return fmt.Sprintf("process %d of account %s has it", e.PID, who)
}

// address is short enough for a socket, whatever the name.
func address(name string) string {
	sum := sha256.Sum256([]byte(name))
	return "@yardmaster/" + hex.EncodeToString(sum[:])
}
