package scenario

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"path/filepath"
)

// Inputs is the SHA-256 of the files that the settings name, those in the folders of a workload included. Scenarios with the same command and the same
// inputs are the same, on whatever machine.
func (s *Scenario) Inputs() (string, error) {
	sum := sha256.New()
	for _, set := range Settings {
		for _, value := range set.Get(s) {
			if set.Name == "scheduler" {
				value, _ = s.Known.Policies.Split(value)
			}
			err := filepath.WalkDir(value, func(path string, d fs.DirEntry, err error) error {
				switch {
				case err != nil && path == value: // no file: the name of a model, a number
					return nil
				case err != nil:
					return err
				case d.IsDir() && set.Name != "workload":
					return fs.SkipDir
				case !d.Type().IsRegular() && d.Type() != fs.ModeSymlink:
					return nil
				}
				text, err := hash([]string{path})
				fmt.Fprintln(sum, text)
				return err
			})
			if err != nil {
				return "", err
			}
		}
	}
	return fmt.Sprintf("%x", sum.Sum(nil)), nil
}
