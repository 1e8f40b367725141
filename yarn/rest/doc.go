// Package rest reads and changes a Hadoop cluster over its web services: the ResourceManager's /ws/v1/cluster, a MapReduce
// AM's /ws/v1/mapreduce through the ResourceManager's proxy, the JobHistoryServer's /ws/v1/history and the reading half of
// WebHDFS.
//
// # Versions
//
// Answers are read by their JSON names and with indulgence, because Hadoop 2.10 to 3.5 write the same thing in several ways: a
// field that is not known is skipped, a number may stand in quotes, a list of one may be the bare element, an empty list may be
// null, absent or an empty string, and objects may repeat a key. A value of a wrong kind is an error that names the field.
//
// # Long lists
//
// Lists (applications, jobs, tasks, attempts, files) are iterators: elements are decoded one by one as they come, so memory is
// bounded by the largest element and not by the list.
//
// # Reads, writes and failover
//
// A read is repeated, with growing and randomly shortened pauses, when a server did not answer, answered that it is not the
// active one or could not answer now. A list is not repeated once an element was handed out. A write is sent again only if it is sure that no
// ResourceManager has seen it; when that is not sure, the error is an *OutcomeUnknownError and the caller has to read back what
// became of it.
//
// # Whom it asks
//
// Only servers that the options name are told who asks, and other ResourceManagers that the configuration of a named one lists. A standby's redirect
// is not followed: it only says that another is to be asked. An ApplicationMaster is a user's process, and may answer anything: its redirects
// are errors. The one redirect that is followed leads from a NameNode to a DataNode, without a word about who asks.
//
// # Politeness
//
// The ResourceManager gets at most two requests a second unless told otherwise, and the history server and the file system
// a bounded number at a time: they belong to somebody else's production cluster.
package rest
