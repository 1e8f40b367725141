// Package queuestest changes scheduler settings as a ResourceManager does, for tests.
package queuestest

import (
	"maps"
	"slices"
	"strings"

	"github.com/yardmaster/yardmaster/yarn/conf"
	"github.com/yardmaster/yardmaster/yarn/rest"
)

// Apply makes a change of settings as the ResourceManager's ConfigurationUpdateAssembler does.
func Apply(old map[string]string, c rest.SchedulerChange) map[string]string {
	m := maps.Clone(old)
	split := func(path string) (parent, name string) {
		i := strings.LastIndexByte(path, '.')
		return path[:i], path[i+1:]
	}
	children := func(parent string) (list []string) {
		for name := range strings.SplitSeq(m[conf.Prefix+parent+".queues"], ",") {
			if name = strings.TrimSpace(name); name != "" {
				list = append(list, name)
			}
		}
		return list
	}
	set := func(queue string, s rest.Setting) {
		if m[conf.Prefix+queue+"."+s.Name] = s.Value; s.Value == "" {
			delete(m, conf.Prefix+queue+"."+s.Name)
		}
	}
	for _, queue := range c.Remove {
		parent, name := split(queue)
		left := slices.DeleteFunc(children(parent), func(k string) bool { return k == name })
		set(parent, rest.Setting{Name: "queues", Value: strings.Join(left, ",")})
		maps.DeleteFunc(m, func(k, _ string) bool { return strings.Contains(k, queue+".") })
	}
	for _, a := range c.Add {
		parent, name := split(a.Queue)
		all := append(children(parent), name)
		set(parent, rest.Setting{Name: "queues", Value: strings.Join(all, ",")})
		for _, s := range a.Settings {
			set(a.Queue, s)
		}
		if len(all) == 1 {
			set(parent, rest.Setting{Name: "ordering-policy"})
		}
	}
	for _, u := range c.Update {
		for _, s := range u.Settings {
			set(u.Queue, s)
		}
	}
	return m
}
