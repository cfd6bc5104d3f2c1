//! Explained example output of each command, printed at the end of its `--help` and its manual page.
//!
//! A line without indentation that ends in ":" is a heading. Lines have at most 80 characters, so that no terminal
//! wraps them. The tests run the command after each `$`.

/// Examples for `perfset` without a command.
pub const LIVE: &str = "\
Examples:
  $ perfset 1 2
  Processor Information          2 processors, 2026-11-21 21:04:50.288 UTC
  instance     % busy   % user  % kernel  % intr   % DPC    intr/s     MHz
  _Total         14.5      8.0       6.0     0.0     0.5       358   2,445
  0,0             8.0      4.0       4.0     0.0     1.0       193   2,445
  0,1            21.0     12.0       8.0     0.0     0.0       187   2,445
  0,_Total       14.5      8.0       6.0     0.0     0.5       380   2,445

  Every second, twice. First line: what is shown, and when that second ended.
  Second: shares of the second, interrupts in it, the frequency; --full-names
  has the counters' own names. _Total is the machine, 0,1 the second processor
  of NUMA node 0, 0,_Total that node. What this machine does not have is -,
  with the reason below the table.

  $ perfset 500ms
  Twice a second, until Ctrl+C.";

/// Examples for `perfset get`.
pub const GET: &str = r"Examples:
  $ perfset get '\Processor Information(_Total)\% Processor Time' \
      '\Memory\Available Bytes' 1 3
  time          % Processor Time  Available Bytes
                          _Total
  21:04:51.294              61.0   24,685,432,832
  21:04:52.295              99.0   24,608,174,080
  21:04:53.296              87.5   24,575,143,936

  First line: the counters. Second: the instance, where there is one. Then a
  line a sample, each with its local time: the share of the second before, and
  the bytes at that moment.

  $ perfset get cpu --top 1
  21:04:55.317  \Processor Information(*)\% Processor Time
               100.0 %  0,0

  Paths with many instances are rows: the time, the path, then value, unit and
  instance. --top 1 leaves the greatest of each counter. _Total, which sums
  others up, and Idle are left out, unless the path means nothing else.

  $ perfset get '/System/*'
  All counters of a counterset that this machine has. / is as good as \.

  $ perfset get cpu '/Memory/Available MBytes' 10 --format csv
  For a program, every ten seconds, until Ctrl+C.

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

  A counterset a line: its name as in paths, how many instances it has now, how
  many counters it defines, and who fills it. Counters that this machine lacks
  are counted too: perfset describe NAME shows which it has.

  $ perfset list memory
  Those with this in their names; with a wildcard the whole name must match.

  $ perfset list
  All of them.";

/// Examples for `perfset find`.
pub const FIND: &str = r"Examples:
  $ perfset find context switch
  \Linux Process(*)\Voluntary Context Switches/sec
      How often per second the process's first thread gave up its processor, to
      wait for something
  ...
  \System\Context Switches/sec
      How often per second a processor went from one thread to another, on all
      processors together
  \Thread(*)\Context Switches/sec
      How often per second the thread was given a processor

  The counters that have both words, in the name, the help or the counterset's
  name. The first line of each is its path, as perfset get takes it; the
  indented text is the beginning of its help.";

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

  First line: counterset, counter, and the number that never gets another
  meaning. Then what it says. type is how PerfLib calls it; value is the
  formula, N the raw value, D the clock, B the base, 0 the older sample and 1
  the newer; base is the counter that B is of; from is where Linux has it.

  $ perfset describe 'processor inf'
  Its counters, one a line. A part of a name is enough if only one has it.

  $ perfset describe --all system
  Also the counters that Linux does not have, and why.";

/// Examples for `perfset instances`.
pub const INSTANCES: &str = "\
Examples:
  $ perfset instances 'processor inf'
  instance          id
  _Total    4294967294
  0,0                0
  0,1                1
  0,_Total  4294901760

  An instance a line: the name that stands in the brackets of a path, and the
  id that tells two of the same name apart.";

/// Examples for `perfset plot`.
pub const PLOT: &str = r"Examples:
  $ perfset plot cpu '\Memory\Available Bytes' 1 30 -o machine.svg
  Half a minute as a picture for a page or a report: one panel for percents,
  one for bytes. Below each panel stand its lines, with their last value,
  average, minimum and maximum.

  $ perfset plot proc --top 5 --stack -o processes.png --theme dark
  The five processes that were busiest, on top of one another: 60 samples, or
  as many as there are before Ctrl+C.

  $ perfset plot --log server.blg '\Processor(*)\% Processor Time' -o cpu.png
  All samples of a log, however many; --begin and --end take a part of it.
  Times are local where the log was written.";

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

  A field a line: its offset in hexadecimal, then name and value. What belongs
  to a structure is indented below its name. This block has 2280 bytes and the
  answer to one query entry, which begins at byte 48. A block that begins with
  PERF is a V1 block.

  $ perfset dump --lenient broken.bin
  A block that breaks rules, as far as it can be read: a line with ! names each
  broken rule where it is met, one with ? what is legal and unusual.

  $ perfset dump --as registration --json -
  A registration from standard input, as a JSON object a structure.";

/// Examples for `perfset log`.
pub const LOG: &str = "\
Examples:
  $ perfset log info customer.blg
  What a log of Windows holds: whose counters, from when to when, how often.";

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

  A log that is cut or damaged is read as far as it goes, and each place that
  was left out is said.

  $ perfset log info --json *.blg | jq '[.file, .samples]'
  The same for programs, an object for each log.";

/// Examples for `perfset v1`.
pub const V1: &str = "\
Examples:
  $ perfset v1 query Global -o before.bin --names names.bin
  $ perfset v1 query Global -o after.bin
  $ perfset v1 values before.bin after.bin --names names.bin
  This machine's counters twice, and what happened in between. Blocks that were
  recorded on Windows are read the same way, with that machine's name table.";

/// Examples for `perfset v1 query`.
pub const V1_QUERY: &str = "\
Examples:
  $ perfset v1 query Global -o now.bin --names names.bin
  All objects of this machine, and the table of their names beside it. Nothing
  is printed; a warning names what could not be had.

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

  A structure a line: where it is in the block, its title index, and what the
  table says that this means. Instances have their own names, and a UniqueID
  instead of an index if that says who they are.

  $ perfset v1 names names.bin
  The table itself: index and text.";

/// Examples for `perfset v1 values`.
pub const V1_VALUES: &str = "\
Examples:
  $ perfset v1 values before.bin after.bin --names names.bin
  23:16:05.000  \\System\\*
               1,823 /s  Context Switches/sec
              14,500 s   System Up Time
                   2     Processor Queue Length

  Every counter of every instance of the newer block. What is counted over time
  is the difference to the older one; with one block alone it is -, and the
  reason says so.

  $ perfset v1 values now.bin --raw --format json
  Raw values of one block, for a program: the fields of perfset get.";

/// Examples for `perfset doctor`.
pub const DOCTOR: &str = "\
Examples:
  $ perfset doctor
  perfset 0.1.0 on Linux 6.18.44, 2 processors, user 1000
  ok    45 countersets, 19 of them with counters that this machine lacks
  ok    process source: a walk over the kernel's tasks (open-coded iterator)
  warn  denied: /proc/PID/smaps_rollup: needs the same user, or CAP_SYS_PTRACE
          Linux Process, 18 instances: Proportional Set Bytes
  ok    collecting all takes 25.66 ms; 0 providers late, 3227 values missing

  First line: what runs where, and for which user. Then a line a check: ok, or
  warn with what would help; below it the countersets whose values it costs, of
  how many instances, and the first of the counters. Counters that a machine
  lacks are no fault; perfset describe --all NAME says which and why.

  $ perfset doctor --capture mine --hide-instances
  mine: 1,005 of 1,105 questions were answered, 1,214,520 bytes

  A folder to be sent with a question: what the machine answers about every
  counterset and its values, byte for byte, without its name. Whoever gets it
  sees the same with PERFSET_CAPTURE=mine perfset list.";

/// Examples for `perfset serve`.
pub const SERVE: &str = "\
Examples:
  $ perfset serve
  page     http://127.0.0.1:9182/
  metrics  http://127.0.0.1:9182/metrics

  Open the first address in a browser; give the second one to Prometheus. Only
  this machine can reach either. Both lines are on standard error.

  $ perfset serve --listen 192.0.2.7:9182
  page     http://192.0.2.7:9182/?token=40f1...
  metrics  http://192.0.2.7:9182/metrics

  Others can reach it, so readers are asked for a token: the page gets it by
  the address, programs send it as Authorization: Bearer TOKEN. It is another
  one each time, unless --token-file FILE has one. A server that is started by
  root, or with capabilities, asks for one on loopback too: it shows what
  others on this machine may not see. Connections are not encrypted: across a
  network, use ssh -L 9182:localhost:9182 HOST, or a proxy with TLS.

  $ perfset serve --listen 192.0.2.7:9182 --insecure
  Whoever can reach the address sees everything.";

/// Examples for `perfset completions`.
pub const COMPLETIONS: &str = "\
Examples:
  $ perfset completions bash >~/.local/share/bash-completion/completions/perfset
  Nothing is printed: the next bash knows perfset's commands and options.

  $ perfset completions zsh >~/.zfunc/_perfset
  For zsh, with ~/.zfunc in fpath before compinit.

  $ perfset completions fish >~/.config/fish/completions/perfset.fish
  For fish.";

/// Examples for `perfset relog`.
pub const RELOG: &str = r"Examples:
  $ perfset relog customer.blg -o customer.csv
  For a spreadsheet: a line a sample, a column a counter of an instance. The
  times are UTC; --local has those of the machine that wrote the log. Blank is
  what has no value: what is counted over time has none in the first line.

  $ perfset relog customer.blg -o cpu.csv -c '\Processor(_Total)\*' \
      --begin '2013-02-19 18:55:00' --every 60
  Of one counter from then on every 60th sample, each the mean of 60.

  $ perfset relog customer.blg --list
  \GEORGIS3\PhysicalDisk(0 C:)\Avg. Disk Bytes/Read
  \GEORGIS3\PhysicalDisk(0 C:)\Avg. Disk Bytes/Write
  What there is to choose from.

  $ perfset relog customer.blg -o - --format json
  For a program: an object a line, as get --format json, with the machine.

  perfset relog customer.blg -o customer.db
  For SQL: a SQLite file with perfmon's tables CounterData, CounterDetails and
  DisplayToID, both numbers of each raw value in it.

Started under the name relog, as through ln -s perfset relog, it takes the
options of Windows' own.";

/// Examples for `perfset manifest`.
pub const MANIFEST: &str = r"Examples:
  $ perfset manifest check waves.man
  $ perfset manifest generate waves.man --c-header -o waves.h
  $ perfset manifest export memory system
  What a provider declares, checked; the code that it needs; countersets of this
  machine in the same form. perfset provider install registers them.";

/// Examples for `perfset manifest check`.
pub const MANIFEST_CHECK: &str = r#"Examples:
  $ perfset manifest check waves.man
  waves.man: Harbour, 2 countersets, 11 counters

  A good manifest: the provider's name, and what it declares.

  perfset manifest check mistyped.man
  mistyped.man:34:56: error: type "perf_averge_timer" is none of a manifest; did
  you mean perf_average_timer? [value]

  File, line, column, how bad it is, what is wrong; then what would be right,
  and the rule. The code is 5.

  perfset manifest check *.man && make
  For a build."#;

/// Examples for `perfset manifest generate`.
pub const MANIFEST_GENERATE: &str = "\
Examples:
  $ perfset manifest generate waves.man --c-header -o waves.h
  What ctrpp -o writes: a program includes it, calls CounterInitialize, makes
  instances with PerfCreateInstance and sets their counters.

  $ perfset manifest generate waves.man --rust -o waves.rs
  A struct a counterset, a field a counter.

  $ perfset manifest generate waves.man --symbols --prefix Harbour
  GUIDs and counter ids for programs that read these counters; HARBOUR stands
  before each name.";

/// Examples for `perfset manifest export`.
pub const MANIFEST_EXPORT: &str = "\
Examples:
  $ perfset manifest export memory system -o linux.man
  Both countersets of this machine, in one manifest. Counters that show a time
  since something get the two hidden ones that manifests ask for.";

/// Examples for `perfset provider`.
pub const PROVIDER: &str = "\
Examples:
  $ perfset provider install waves.man
  $ perfset provider list
  $ perfset provider remove Harbour
  A provider is registered, shown, removed. Root registers for everyone, another
  user for that user.";

/// Examples for `perfset provider install`.
pub const PROVIDER_INSTALL: &str = "\
Examples:
  $ perfset provider install waves.man
  installed /etc/perfset/providers/5e0d3a52-8c3f-4f0e-9f0b-4f1f6a1d0a02.man

  The manifest is checked and copied. The same one once more is no error;
  another one that has a GUID or a counterset's name of the first is refused.

  $ perfset provider install orders.man --dir usr/share/perfset/providers
  For a package.";

/// Examples for `perfset provider remove`.
pub const PROVIDER_REMOVE: &str = "\
Examples:
  $ perfset provider remove waves.man
  removed /etc/perfset/providers/5e0d3a52-8c3f-4f0e-9f0b-4f1f6a1d0a02.man

  By manifest; a provider's GUID or its name do as well.

  perfset provider remove 5e0d3a52-8c3f-4f0e-9f0b-4f1f6a1d0a04
  The GUID of a counterset removes only that one from its provider's file; the
  last one takes the provider with it.";

/// Examples for `perfset provider list`.
pub const PROVIDER_LIST: &str = "\
Examples:
  $ perfset provider list
  Harbour  {5e0d3a52-8c3f-4f0e-9f0b-4f1f6a1d0a02}
    /etc/perfset/providers/5e0d3a52-8c3f-4f0e-9f0b-4f1f6a1d0a02.man
    Harbour Waves  {5e0d3a52-8c3f-4f0e-9f0b-4f1f6a1d0a03}
    Harbour Gate  {5e0d3a52-8c3f-4f0e-9f0b-4f1f6a1d0a04}

  A provider, its file, its countersets. A file that registers nothing stands
  below, with the reason, as ignored.

  $ perfset provider list --json
  An object a file, for programs.";
