//! Explained example output of each command, printed at the end of its `--help` and its manual page.
//!
//! A line without indentation that ends in ":" is a heading. Lines have at most 80 characters, so that no terminal
//! wraps them. The tests run the command after each `$`.

/// Examples for `perfset` without a command.
pub const OVERVIEW: &str = "\
Examples:
  $ perfset
  VM  Linux 6.18.44  2 processors  23.5 GiB            up 00:41:17  05:50:28 UTC
  load 5.06 4.17 3.17   94 processes, 5 running, 0 blocked     every 1 s, q ends
  cpu   [||||||||||||]  99.5 %!  user 84.0  kernel 14.5  iowait 0.0  steal 0.0
  mem   [|           ]   4.6 %   1.1 GiB used, 22.4 GiB available
  swap  this machine has no swap
  waits for cpu 56.9 %  memory 0.0 %  storage 0.3 %   TCP resends 0.0 %
  !  tasks wait for a processor in 57 % of the time                 perfset proc
  -60 s rustc:28300 started (78.5 %), rustc:26542 started (50.4 %)
  disk        busy       bytes  latency   network  received       sent   drops
  vda        1.2 % 176.0 KiB/s 318.2 us   eth0    1.2 KiB/s    420 B/s     0/s
  process             cpu   process        memory   process           disk
  rustc:28300      78.5 %   rustc:26542 343.5 MiB   rustc:28300  5.3 MiB/s
  rustc:26542      50.4 %   rustc:28300 281.5 MiB

  The state of the machine over the last second. \"waits\" is the share of time
  in which work waited. Lines with ! are findings, and on their right is the
  command that shows more. The line -60 s has the differences from a minute ago.
  A value that is not known is -. In a pipe, each sample is a block of lines.

  $ perfset 500ms 10
  Ten samples, twice a second.

  $ perfset disk
  Disks, file systems, and the processes that read and write most. The other
  screens are cpu, mem, net, proc and cgroup.

  $ perfset --log rec --at 14:03:07
  The same of an instant in a recording: see perfset record --help.";

/// Examples for `perfset cpu`.
pub const CPU: &str = "\
Examples:
  $ perfset cpu 1 2
  Processor Information          2 processors, 2026-11-21 21:04:50.288 UTC
  instance     % busy   % user  % kernel  % intr   % DPC    intr/s     MHz
  _Total         14.5      8.0       6.0     0.0     0.5       358   2,445
  0,0             8.0      4.0       4.0     0.0     1.0       193   2,445
  0,1            21.0     12.0       8.0     0.0     0.0       187   2,445
  0,_Total       14.5      8.0       6.0     0.0     0.5       380   2,445

  Two tables, one per second. The first line has the counterset and the end of
  that second. The columns are shares of the second, interrupts per second and
  the frequency; --full-names shows the full names. _Total is the machine, 0,1
  the second processor of NUMA node 0, and 0,_Total that node. A value that this
  machine does not have is -, with the reason below the table.

  $ perfset cpu --log rec --at 14:03:07
  The same of an instant in a recording.";

/// Examples for `perfset disk`, `mem`, `net`, `proc` and `cgroup`.
pub const SCREENS: &str = "\
Examples:
  $ perfset proc 2
  The screen every two seconds, until q or Ctrl+C.

  $ perfset disk 1 1 > now.txt
  One sample as text, with all rows.

  $ perfset proc --log rec --at 14:03:07
  The same of an instant in a recording.";

/// Examples for `perfset top`.
#[cfg(feature = "tui")]
pub const TOP: &str = "\
Examples:
  $ perfset top
  Processes, every two seconds; the arrows go back in time. ? lists the keys.

  $ perfset top 500ms -c disk
  Begin with disks, twice a second.

  $ perfset top --plain 2 1 -c processor
  One table as text.";

/// Examples for `perfset view`.
#[cfg(feature = "tui")]
pub const VIEW: &str = "\
Examples:
  $ perfset view rec --at 14:03:07
  A recording, at that time; the arrows step from sample to sample.

  $ perfset view BasicPerfCounters.blg -c processor
  A Windows log.

  $ perfset view after.perfset --compare before.perfset
  Means of both recordings side by side, with their difference.

  $ perfset view rec --begin 14:00 --end 14:10 --compare 13:00..13:10
  The same for two times of one recording.";

/// Examples for `perfset get`.
pub const GET: &str = r"Examples:
  $ perfset get '\Processor Information(_Total)\% Processor Time' \
      '\Memory\Available Bytes' 1 3
  time          % Processor Time  Available Bytes
                          _Total
                               %                B
  21:04:51.294              61.0   24,685,432,832
  21:04:52.295              99.0   24,608,174,080
  21:04:53.296              87.5   24,575,143,936

  The head has the counters, the instance, if there is one, and the units. One
  line per sample follows, with its local time: the share of the previous
  second, and the bytes at that moment.

  $ perfset get '\Process V2(*)\{% Processor Time,Working Set}' --top 2
  21:04:55.317  Process V2
    % Processor Time  Working Set  instance
                   %            B
                46.9  222,965,760  bench:631
                30.2   94,113,792  python3:12544

  A path with many instances has a row for each, sorted by the first counter, or
  by the one that --sort names. --top 2 keeps the first two. Idle, and _Total,
  the sum of others, are left out, unless the path selects nothing else. On a
  terminal, numbers are short, such as 212.6 MiB, unless --exact is given.

  $ perfset get '\Process V2(*)\{% Processor Time,Working Set}' \
      --where 'Working Set>2e7' --sort 'working set'
  Only processes with more than 20 million bytes, the largest first.

  $ perfset get '/System/*'
  All counters of a counterset that this machine has. / works like \.

  $ perfset get cpu '/Memory/Available MBytes' 10 --format csv
  Output for a program, every ten seconds, until Ctrl+C. With --wide, a line has
  all counters of an instance.

  $ perfset get '/System/System Up Time' --raw --format json
  The raw value, without waiting.";

/// Examples for `perfset list`.
pub const LIST: &str = "\
Examples:
  $ perfset list 'proc*'
  counterset             instances  counters  from
  Process                       77        28  Linux
  Process V2                    77        28  Linux
  Processor                      3        15  Linux
  Processor Information          4        31  Linux

  4 countersets; perfset describe NAME shows one, perfset list 'proc*' filters

  One counterset per line: its name as in paths, the number of its instances,
  the number of its counters, and its origin. Counters that this machine does
  not have are included; perfset describe NAME shows the others.

  $ perfset list memory
  Names that contain this text. A pattern must match the whole name.

  $ perfset list --format json
  For a program: one JSON object per counterset. Other lists have it, too.

  $ perfset list
  All countersets.";

/// Examples for `perfset find`.
pub const FIND: &str = r"Examples:
  $ perfset find iowait
  $ perfset find disk full
  $ perfset find cpu usage per process

  The best counter comes first, one per line: its path for perfset get, and the
  beginning of its help text. Words may be names of other programs (rss, tps),
  problems (packet loss) or parts of names and help texts.

  $ perfset find swap --all
  All counters found, also those that this system never has.

  $ perfset find memory --format json | jq -r .path
  For programs: every counter found, as one JSON object per line.";

/// Examples for `perfset describe`.
pub const DESCRIBE: &str = "\
Examples:
  $ perfset describe mem '% Committed Bytes In Use'
  Memory: % Committed Bytes In Use (id 26)
  Committed Bytes as a share of Commit Limit. More than 100 is normal, because
  Linux promises more than it has unless vm.overcommit_memory is 2.

  type  PERF_LARGE_RAW_FRACTION (0x20020500)
  value 100 x N1 / B1
  base  % Committed Bytes In Use Base (id 36)
  unit  %
  from  /proc/meminfo: Committed_AS

  The first line has counterset, counter and the id, which never changes its
  meaning. The help text follows. type is the type in PerfLib. value is the
  formula: N is the raw value, D the clock, B the base, 0 the older sample and 1
  the newer. base is the counter of B; from is the source on Linux.

  $ perfset describe 'processor inf'
  Its counters, one per line. A unique part of the name is enough.

  $ perfset describe --all system
  Includes the counters that Linux does not have, with the reasons.";

/// Examples for `perfset instances`.
pub const INSTANCES: &str = "\
Examples:
  $ perfset instances 'processor inf'
  instance          id
  _Total    4294967294
  0,0                0
  0,1                1
  0,_Total  4294901760

  One instance per line: the name for the brackets of a path, and the id, which
  distinguishes instances of the same name.

  $ perfset instances 'process v2' --facts
  mail:812         812
      user          mail
      command_line  - (denied: command lines of other users can contain secrets,
                    and are shown only on request)
      executable    - (denied: /proc/812/exe: run as its user, or grant
                    CAP_SYS_PTRACE)
      cgroup        /system.slice/mail.service
      unit          mail.service

  What else is known: of processes, disks and network interfaces. Root sees all
  command lines, other users those of their own processes.";

/// Examples for `perfset record`.
pub const RECORD: &str = r"Examples:
  $ perfset record --dir rec 1 3
  Three samples of everything into the directory rec. Without 3, until Ctrl+C;
  without --dir, into the directory of this user and machine.

  $ perfset --log rec --at -2s
  The overview of that instant: two seconds before the end. 14:03:07 and
  'mark deploy' are instants too. Every command that reads logs reads it:
  get, list, instances, plot, watch, relog.

  $ perfset record --dir rec cpu mem '\Process V2(*)\*' 500ms 2
  Only these counters, twice a second.

  $ perfset record -o web1.perfset --note 'slow again' 1 2
  One file, to be sent to somebody else.

  $ perfset record --dir rec --keep 2GB --keep 7d --every 10s=CGroup 1 1
  Keeps the newest files: at most 2 GB, and none older than seven days. Control
  groups are read every ten seconds.";

/// Examples for `perfset mark`.
pub const MARK: &str = r"Examples:
  $ perfset mark 'deploy 42' --dir rec
  The text and the time are in the recording; perfset log info shows them.";

/// Examples for `perfset watch`.
pub const WATCH: &str = r"Examples:
  $ perfset watch '/Processor(*)/% Processor Time' --above 90 --for 3
  21:04:55.317  begins       100.0 %     \Processor(1)\% Processor Time
  21:04:58.318  ends          12.9 %     \Processor(1)\% Processor Time

  Samples every second until Ctrl+C. A condition begins when three values in a
  row are above 90, and ends with the first that is not. Each instance counts
  by itself; a restarted process is another instance. An unknown value is no
  value in a row, and ends nothing.

  $ perfset watch '\Memory\Available MBytes' --below 500 --exit-code 1 10
  For a script: 6 if a value was below 500, else 0 after ten samples, or 1 if
  a value was unknown, and therefore possibly below.

  $ perfset watch '\Process V2(*)\Working Set' --above 4e9 10 \
      --run logger -t perfset 'a process is too large'
  Starts logger once for each process that becomes too large. All words after
  --run belong to the program. It is not a shell: for variables and pipes use
  --run sh -c 'echo $PERFSET_INSTANCE: $PERFSET_VALUE | mail -s alarm root'

  $ perfset watch --log server.blg '\Processor(*)\% Processor Time' --above 95
  When it happened in a log.

Environment of the program:
  PERFSET_PATH         counter path of the value
  PERFSET_COUNTERSET   its counterset
  PERFSET_INSTANCE     name of the instance; empty if there is only one
  PERFSET_INSTANCE_ID  id of the instance, such as the process id; may be empty
  PERFSET_COUNTER      its counter
  PERFSET_VALUE        the value, as in JSON
  PERFSET_UNIT         unit of the value, as in JSON; may be empty
  PERFSET_TIME         time of the sample in UTC, as in JSON
  PERFSET_LIMIT        the condition: above 90
  PERFSET_SAMPLES      number of samples in a row";

/// Examples for `perfset plot`.
#[cfg(feature = "plot")]
pub const PLOT: &str = r"Examples:
  $ perfset plot cpu '\Memory\Available Bytes' 1 30 -o machine.svg
  Half a minute as a picture for a page or a report: one panel for percentages,
  one for bytes. Below each panel, its lines are listed with their last value,
  average, minimum and maximum.

  $ perfset plot proc --top 5 --stack -o processes.png --theme dark
  The five busiest processes, stacked: 60 samples, or those before Ctrl+C.

  $ perfset plot cpu '/Memory/Available Bytes' -o limits.svg --max 100% \
      --threshold busy=80% --threshold 'too little=1GiB'
  The axis of percentages ends at 100, whatever the values are. Each threshold
  is a line with its name, in the panel of its unit.

  $ perfset plot '/PhysicalDisk(*)/Disk Bytes/sec' -o disks.svg --scale log \
      --min 1KiB/s
  Disks of which one transfers a thousand times as much as another.

  $ perfset plot --log server.blg '\Processor(*)\% Processor Time' -o cpu.png
  All samples of a log; --begin and --end select a part of it. Times are local
  where the log was written.";

/// Examples for `perfset dump`.
pub const DUMP: &str = "\
Examples:
  $ perfset dump block.bin
  000000  PERF_DATA_HEADER
  000000    dwTotalSize = 2280
  000004    dwNumCounters = 1
  000008    PerfTimeStamp = 4091936395640
  000010    PerfTime100NSec = 134397661571812602
  000018    PerfFreq = 1000000000
  000020    SystemTime = 2026-11-21 20:22:37.181 (day of week 6)
  000030    PERF_COUNTER_HEADER #0

  One field per line: its offset in hexadecimal, then name and value. Fields are
  indented below the name of their structure. This block has 2280 bytes and the
  result of one query entry, which begins at byte 48. A block that begins with
  PERF is a V1 block.

  $ perfset dump --lenient broken.bin
  A block that breaks rules, as far as it can be read. A line with ! names a
  broken rule; a line with ? names something legal but unusual.

  $ perfset dump --as registration --format json -
  A registration from standard input, as one JSON object per structure.";

/// Examples for `perfset log`.
pub const LOG: &str = "\
Examples:
  $ perfset log info customer.blg
  The contents of a Windows log: machines, time span, interval, counters.

  $ perfset log cut rec --begin '2026-11-27 02:00:00' -o night.perfset
  A part of a recording as one file, to be sent to somebody else.

  $ perfset log convert customer.blg -o customer.perfset
  A Windows log as a recording.";

/// Examples for `perfset log info`.
pub const LOG_INFO: &str = "\
Examples:
  $ perfset log info customer.blg
  customer.blg: binary log of Windows build 9200, 64-bit
  machine   \\\\GEORGIS3
  span      2013-02-19 18:50:17.844 to 2013-02-19 19:00:17.840
  zone      UTC-08:00; times are local
  samples   601, every 1 s
  gaps      none
  damage    none

   instances  type                    counter
           -  PERF_AVERAGE_BULK       \\\\GEORGIS3\\PhysicalDisk(0 C:)\\Avg. Disk Bytes/Read
           5  PERF_100NSEC_TIMER_INV  \\\\GEORGIS3\\Processor(*)\\% Processor Time

  A truncated or damaged log is read as far as possible. The places that were
  left out are listed.

  $ perfset log info --format json *.blg | jq '[.file, .samples]'
  The same for programs, one object per log.";

/// Examples for `perfset log cut`.
pub const LOG_CUT: &str = "\
Examples:
  $ perfset log cut rec --begin '2026-11-27 02:00:00' --end '2026-11-27 02:10:00' \\
      -o night.perfset
  Ten minutes of the folder rec as one file.

  $ perfset log cut rec -o all.perfset
  Everything in it as one file, also while it is recorded.";

/// Examples for `perfset log convert`.
pub const LOG_CONVERT: &str = r"Examples:
  $ perfset log convert customer.blg -o customer.perfset
  A Windows log as a recording, with its raw values, in a fraction of the size.

  $ perfset log convert monday.blg tuesday.blg --machine WEB1 -o web1.perfset
  One machine of several logs.";

/// Examples for `perfset log export`.
pub const LOG_EXPORT: &str = "\
Examples:
  $ perfset log export rec --to parquet -o lake
  All samples of a recording. Once more, it adds those that are new.

  $ perfset log export --views duckdb lake -o views.sql
  Views with the values that perfset get prints: .read views.sql in DuckDB.";

/// Examples for `perfset v1`.
pub const V1: &str = "\
Examples:
  $ perfset v1 query Global -o before.bin --names names.bin
  $ perfset v1 query Global -o after.bin
  $ perfset v1 values before.bin after.bin --names names.bin
  This machine's counters twice, and the values between both. Blocks recorded on
  Windows are read the same way, with that machine's name table.";

/// Examples for `perfset v1 query`.
pub const V1_QUERY: &str = "\
Examples:
  $ perfset v1 query Global -o now.bin --names names.bin
  All objects of this machine, and their name table. Nothing is printed, except
  warnings about objects that are left out.

  $ perfset v1 query 238 2 -o two.bin
  The objects with these title indexes: Processor and System.

  $ perfset v1 query Counter 009 -o names.bin
  The English names. Help 009 and Explain 009 are the help texts.";

/// Examples for `perfset v1 names`.
pub const V1_NAMES: &str = "\
Examples:
  $ perfset v1 names now.bin --names names.bin
    offset  what        index  name
  00000060  object          2  System
  000000a0    counter     146  Context Switches/sec  PERF_COUNTER_BULK_COUNT
  000000c8    counter     674  System Up Time  PERF_ELAPSED_TIME

  One structure per line: its offset in the block, its title index, and the name
  of that index in the table. Instances have their own names, and a UniqueID
  instead of an index if they are identified by it.

  $ perfset v1 names names.bin
  The name table: index and text.";

/// Examples for `perfset v1 values`.
pub const V1_VALUES: &str = "\
Examples:
  $ perfset v1 values before.bin after.bin --names names.bin
  23:16:05.000  \\System\\*
               1,823 /s  Context Switches/sec
              14,500 s   System Up Time
                   2     Processor Queue Length

  Every counter of every instance of the newer block. Rates are computed from
  the difference between both blocks. With a single block they are -, with the
  reason.

  $ perfset v1 values now.bin --raw --format json
  Raw values of one block, for a program: the fields of perfset get.";

/// Examples for `perfset doctor`.
pub const DOCTOR: &str = "\
Examples:
  $ perfset doctor
  perfset 0.2.0 on Linux 6.18.44, 2 processors, user 1000
  ok    45 countersets; 19 have counters this machine does not support
  ok    process collection: BPF task iterator (open-coded)
  warn  permission denied: /proc/PID/fd: run as its user, or grant
        CAP_SYS_PTRACE
          Process V2, 18 instances: Handle Count
  ok    a collection of all takes 9.66 ms; 0 providers late, 3227 values missing

  The first line has version, system and user. Each check follows on its own
  line: ok, or warn with a remedy. Below a warning are the affected countersets,
  the number of their instances, and the first counters. Unsupported counters
  are no fault; perfset describe --all NAME lists them with reasons.

  $ perfset doctor --capture mine --hide-instances
  mine: 1,005 of 1,105 requests succeeded, 1,214,520 bytes

  A directory to send with a bug report. It contains the machine's responses
  about every counterset and its values, byte for byte, without the machine's
  name. The recipient sees the same with PERFSET_CAPTURE=mine perfset list.

Process sources:
  Most commands have --process-source, the collection method for processes and
  threads. By default the cheapest available method is used.
  auto  the cheapest available method
  bpf   the BPF task iterator in the kernel; it needs CAP_BPF and CAP_PERFMON
  gate  /proc files of processes that ran, others refreshed periodically
  proc  /proc files of all processes, each time";

/// Examples for `perfset report`.
#[cfg(feature = "serve")]
pub const REPORT: &str = r"Examples:
  $ perfset report --log rec -o rec.html
  rec.html: 486.2 KiB, 9 charts of 600 samples, 2 findings

  A file to send: findings, charts, tables of processes, disks and networks, and
  commands for the log. The line is on standard error. The recipient needs a
  browser, and no network.

  $ perfset report --log rec -o night.html --begin 02:00 --end 02:10 \
      --title 'Backup' --counter '\System\Context Switches/sec'
  Ten minutes, with a title and a chart of one more counter.

  $ perfset report --log customer.blg -o customer.html
  A Windows log. Without the counters of the overview, the report has charts of
  up to 24 counters, and names the others.";

/// Examples for `perfset serve`.
#[cfg(feature = "serve")]
pub const SERVE: &str = "\
Examples:
  $ perfset serve
  page     http://127.0.0.1:9182/
  metrics  http://127.0.0.1:9182/metrics

  Open the first address in a browser; give the second one to Prometheus. Only
  this machine can reach either. Both lines are on standard error.

  $ perfset serve --record
  The page has the past, too: a recorder runs beside the server.

  $ perfset serve --listen 192.0.2.7:9182
  page     http://192.0.2.7:9182/?token=40f1...
  metrics  http://192.0.2.7:9182/metrics

  Other machines can connect, so a token is required. The page gets it from the
  address; programs send it as Authorization: Bearer TOKEN. Each start creates a
  new token, unless --token-file FILE contains one. A server started by root, or
  with capabilities, requires a token on loopback too, because it shows data
  that other users may not see. Connections are not encrypted: across a network,
  use ssh -L 9182:localhost:9182 HOST, or a proxy with TLS.

  $ perfset serve --listen 192.0.2.7:9182 --insecure
  Everyone who can reach the address sees everything.

  $ perfset serve --log rec --begin '14:00' --end '14:10'
  The page shows these minutes of a recording, with the findings at their end.

  $ perfset serve --compare monday.blg --upload-max 500MB
  The page has a list with the machine and the log. More logs can be dropped
  onto it, up to 500 MB together.";

/// Examples for `perfset completions`.
#[cfg(feature = "man")]
pub const COMPLETIONS: &str = "\
Examples:
  $ perfset completions bash >~/.local/share/bash-completion/completions/perfset
  Nothing is printed. The next bash completes commands, options, counter paths,
  and names of countersets, instances and counters:
    perfset get '\\Mem<TAB>Avail<TAB>

  With --log FILE before the path, the names are those of the log. An open quote
  stays open until the path is complete; without one, it is added.

  $ perfset completions zsh >~/.zfunc/_perfset
  For zsh, with ~/.zfunc in fpath before compinit.

  $ perfset completions fish >~/.config/fish/completions/perfset.fish
  For fish.

The scripts for elvish and PowerShell complete commands and options only. They
are generated, and not tested in these shells.";

/// Examples for `perfset man`.
#[cfg(feature = "man")]
pub const MAN: &str = "\
Examples:
  $ perfset man /usr/share/man/man1
  One page per command, for packages. The names of the files are printed.";

/// Examples for `perfset relog`.
pub const RELOG: &str = r"Examples:
  $ perfset relog customer.blg -o customer.csv
  For a spreadsheet: one line per sample, one column per counter and instance.
  Times are UTC; with --local, they are those of the machine that wrote the log.
  Missing values are blank. Rates have no value in the first line.

  $ perfset relog customer.blg -o cpu.csv -c '\Processor(_Total)\*' \
      --begin '2013-02-19 18:55:00' --every 60
  Every 60th sample from that time on, each the mean of 60.

  $ perfset relog customer.blg --list
  \GEORGIS3\PhysicalDisk(0 C:)\Avg. Disk Bytes/Read
  \GEORGIS3\PhysicalDisk(0 C:)\Avg. Disk Bytes/Write
  The counter paths in the log.

  $ perfset relog customer.blg -o - --format json
  For a program: one object per value, as get --format json, with the machine.

  $ perfset relog customer.blg -o customer.db
  For SQL: a SQLite file with perfmon's tables CounterData, CounterDetails and
  DisplayToID, including both numbers of each raw value.

Started under the name relog, for example through ln -s perfset relog, it takes
the options of relog on Windows.";

/// Examples for `perfset manifest`.
#[cfg(feature = "publish")]
pub const MANIFEST: &str = r"Examples:
  $ perfset manifest check waves.man
  $ perfset manifest generate waves.man --c-header -o waves.h
  $ perfset manifest export memory system
  Checks a provider's manifest, generates its code, and writes countersets of
  this machine as a manifest. perfset provider install registers manifests.";

/// Examples for `perfset manifest check`.
#[cfg(feature = "publish")]
pub const MANIFEST_CHECK: &str = r#"Examples:
  $ perfset manifest check waves.man
  waves.man: Harbour, 2 countersets, 11 counters

  A valid manifest: the provider's name, and the numbers of its declarations.

  perfset manifest check mistyped.man
  mistyped.man:34:56: error: type "perf_averge_timer" is none of a manifest; did
  you mean perf_average_timer? [value]

  File, line, column, severity and problem; then a correction, and the rule. The
  exit code is 5.

  perfset manifest check *.man && make
  For a build."#;

/// Examples for `perfset manifest generate`.
#[cfg(feature = "publish")]
pub const MANIFEST_GENERATE: &str = "\
Examples:
  $ perfset manifest generate waves.man --c-header -o waves.h
  The same code as from ctrpp -o: a program includes it, calls
  CounterInitialize, creates instances with PerfCreateInstance and sets their
  counters.

  $ perfset manifest generate waves.man --rust -o waves.rs
  One struct per counterset, with one field per counter.

  $ perfset manifest generate waves.man --symbols --prefix Harbour
  GUIDs and counter ids for programs that read these counters. Each name begins
  with HARBOUR.";

/// Examples for `perfset manifest export`.
#[cfg(feature = "publish")]
pub const MANIFEST_EXPORT: &str = "\
Examples:
  $ perfset manifest export memory system -o linux.man
  Both countersets of this machine, in one manifest. Elapsed-time counters get
  the two hidden counters that manifests require.";

/// Examples for `perfset provider`.
#[cfg(feature = "publish")]
pub const PROVIDER: &str = "\
Examples:
  $ perfset provider install waves.man
  $ perfset provider list
  $ perfset provider remove Harbour
  Registers, lists and removes a provider. Root registers it for all users, any
  other user only for itself.";

/// Examples for `perfset provider install`.
#[cfg(feature = "publish")]
pub const PROVIDER_INSTALL: &str = "\
Examples:
  $ perfset provider install waves.man
  installed /etc/perfset/providers/5e0d3a52-8c3f-4f0e-9f0b-4f1f6a1d0a02.man

  The manifest is checked and copied. Installing it again is no error. A
  manifest with a GUID or a counterset name of another one is refused.

  $ perfset provider install orders.man --dir usr/share/perfset/providers
  For a package.";

/// Examples for `perfset provider remove`.
#[cfg(feature = "publish")]
pub const PROVIDER_REMOVE: &str = "\
Examples:
  $ perfset provider remove waves.man
  removed /etc/perfset/providers/5e0d3a52-8c3f-4f0e-9f0b-4f1f6a1d0a02.man

  Removes by manifest; the provider's GUID or name works too.

  perfset provider remove 5e0d3a52-8c3f-4f0e-9f0b-4f1f6a1d0a04
  The GUID of a counterset removes only this counterset from its provider's
  file. Removing the last counterset removes the provider.";

/// Examples for `perfset provider list`.
#[cfg(feature = "publish")]
pub const PROVIDER_LIST: &str = "\
Examples:
  $ perfset provider list
  Harbour  {5e0d3a52-8c3f-4f0e-9f0b-4f1f6a1d0a02}
    /etc/perfset/providers/5e0d3a52-8c3f-4f0e-9f0b-4f1f6a1d0a02.man
    Harbour Waves  {5e0d3a52-8c3f-4f0e-9f0b-4f1f6a1d0a03}
    Harbour Gate  {5e0d3a52-8c3f-4f0e-9f0b-4f1f6a1d0a04}

  Each provider with its file and its countersets. A file that registers nothing
  is listed below as ignored, with the reason.

  $ perfset provider list --format json
  One object per file, for programs.";
