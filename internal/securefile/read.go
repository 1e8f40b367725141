package securefile

import (
	"fmt"
	"io"
	"os"
)

// ReadFile reads a file of ours, as [Open] does, of at most most bytes.
func ReadFile(path string, most int64) ([]byte, error) {
	f, err := Open(path, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(data)) > most {
		err = fmt.Errorf("%s is larger than %d bytes", path, most)
	}
	if err != nil {
		return nil, err
	}
	return data, nil
}
