// Everything begins here.

startTheme();
document.querySelectorAll("table.sortable").forEach(startTable);
addCurve("wait", "wait", lengthTicks, seconds);
addCurve("elapsed", "elapsed", lengthTicks, seconds);
addCurve("slowdown", "slowdown", ratioTicks, ratio);
startCluster();
