// Prints the raw values of one counter of all instances.
//
//     c++ -std=c++17 wildcard.cpp -o wildcard $(pkg-config --cflags --libs perflib)
//     ./wildcard '{b4fc721a-0378-476f-89ba-a5a79f810b36}' 0
//
// The first argument is the GUID of a counterset, the second the id of a counter in it: docs/countersets has both for
// all that is built in. The type says what a raw value means, and which formula makes a shown value of it.

#include <perflib.h>
#include <winperf.h>

#include <clocale>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cwchar>
#include <cwctype>
#include <exception>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

static_assert(sizeof(WCHAR) == sizeof(wchar_t), "names are printed as wchar_t here: leave PERFLIB_WCHAR_SIZE alone");

using Text = std::basic_string<WCHAR>;

// A function of PerfLib gave a code other than 0.
class Failure : public std::runtime_error {
public:
    Failure(const char *what, ULONG status) : runtime_error(std::string(what) + ": error " + std::to_string(status)) {}
};

void check(const char *what, ULONG status)
{
    if (status != ERROR_SUCCESS)
        throw Failure(what, status);
}

// Bytes of a block that are still to be read. Blocks may come from programs that cannot be trusted: nothing is read
// before it is known to be there.
class Bytes {
public:
    Bytes(const unsigned char *at, std::size_t left) : at_(at), left_(left) {}

    // Takes a structure that says itself, in the field `size`, how many bytes it and what belongs to it have.
    // Gives the structure, and what belongs to it.
    template <class Header>
    std::pair<Header, Bytes> take(ULONG Header::*size)
    {
        Header header;
        if (left_ < sizeof header)
            throw Failure("the block ends too early", ERROR_INVALID_DATA);
        std::memcpy(&header, at_, sizeof header);
        const ULONG whole = header.*size;
        if (whole < sizeof header || whole > left_)
            throw Failure("the block has a wrong size", ERROR_INVALID_DATA);
        Bytes inner(at_ + sizeof header, whole - sizeof header);
        at_ += whole;
        left_ -= whole;
        return {header, inner};
    }

    template <class Number>
    Number number() const
    {
        Number value;
        if (left_ < sizeof value)
            throw Failure("the block ends too early", ERROR_INVALID_DATA);
        std::memcpy(&value, at_, sizeof value);
        return value;
    }

    Text text() const
    {
        Text units(left_ / sizeof(WCHAR), WCHAR());
        std::memcpy(units.data(), at_, units.size() * sizeof(WCHAR));
        const auto end = units.find(WCHAR());
        if (end == Text::npos)
            throw Failure("a name without end", ERROR_INVALID_DATA);
        units.resize(end);
        return units;
    }

private:
    const unsigned char *at_;
    std::size_t left_;
};

// A query handle that closes itself.
class Query {
public:
    Query() { check("PerfOpenQueryHandle", PerfOpenQueryHandle(nullptr, &handle_)); }
    ~Query() { PerfCloseQueryHandle(handle_); }
    Query(const Query &) = delete;
    Query &operator=(const Query &) = delete;

    // One counter of all instances. A counterset with a single instance takes this name too.
    void add(const GUID &counterset, ULONG counter)
    {
        struct Entry {
            PERF_COUNTER_IDENTIFIER id;
            WCHAR name[4]; // the name and zeros, to a multiple of 8 bytes
        } entry = {};
        entry.id.CounterSetGuid = counterset;
        entry.id.Size = sizeof entry;
        entry.id.CounterId = counter;
        entry.id.InstanceId = 0xffffffff; // any
        entry.name[0] = PERF_WILDCARD_INSTANCE[0];
        check("PerfAddCounters", PerfAddCounters(handle_, &entry.id, sizeof entry));
        // The call can succeed and an entry fail.
        if (entry.id.Status == ERROR_WMI_GUID_NOT_FOUND)
            throw Failure("no such counterset", entry.id.Status);
        if (entry.id.Status == ERROR_WMI_ITEMID_NOT_FOUND)
            throw Failure("no such counter in this counterset", entry.id.Status);
        check("the counter", entry.id.Status);
    }

    std::vector<unsigned char> collect()
    {
        std::vector<unsigned char> block;
        for (;;) {
            DWORD actual = 0;
            const ULONG status = PerfQueryCounterData(handle_, reinterpret_cast<PERF_DATA_HEADER *>(block.data()),
                static_cast<DWORD>(block.size()), &actual);
            if (status != ERROR_NOT_ENOUGH_MEMORY)
                check("PerfQueryCounterData", status);
            block.resize(actual);
            if (status == ERROR_SUCCESS)
                return block;
        }
    }

private:
    HANDLE handle_ = nullptr;
};

ULONG type_of(const GUID &counterset, ULONG counter)
{
    PERF_COUNTER_REG_INFO info = {};
    DWORD actual = 0;
    check("PerfQueryCounterSetRegistrationInfo",
        PerfQueryCounterSetRegistrationInfo(nullptr, &counterset, PERF_REG_COUNTER_STRUCT, counter,
            reinterpret_cast<LPBYTE>(&info), sizeof info, &actual));
    return info.Type;
}

const char *name_of(ULONG type)
{
    switch (type) {
#define NAMED(type) case type: return #type
        NAMED(PERF_COUNTER_COUNTER);
        NAMED(PERF_COUNTER_BULK_COUNT);
        NAMED(PERF_COUNTER_RAWCOUNT);
        NAMED(PERF_COUNTER_LARGE_RAWCOUNT);
        NAMED(PERF_100NSEC_TIMER);
        NAMED(PERF_100NSEC_TIMER_INV);
        NAMED(PERF_PRECISION_100NS_TIMER);
        NAMED(PERF_AVERAGE_TIMER);
        NAMED(PERF_AVERAGE_BULK);
        NAMED(PERF_AVERAGE_BASE);
        NAMED(PERF_RAW_FRACTION);
        NAMED(PERF_RAW_BASE);
        NAMED(PERF_LARGE_RAW_FRACTION);
        NAMED(PERF_LARGE_RAW_BASE);
        NAMED(PERF_ELAPSED_TIME);
#undef NAMED
    default:
        return "see winperf.h";
    }
}

// Instance names are chosen by others, and may hold what a terminal obeys.
Text printable(Text name)
{
    for (WCHAR &unit : name) {
        if (!std::iswprint(static_cast<std::wint_t>(unit)))
            unit = L'?';
    }
    return name;
}

// A PERF_COUNTER_DATA block: a value of 4 or 8 bytes, or none.
void print_value(Bytes &bytes, const Text &name)
{
    const auto [data, value] = bytes.take(&PERF_COUNTER_DATA::dwSize);
    std::string number = "-"; // this machine does not have it: not the same as 0
    if (data.dwDataSize == 8)
        number = std::to_string(value.number<std::uint64_t>());
    else if (data.dwDataSize == 4)
        number = std::to_string(value.number<std::uint32_t>());
    std::printf("%20s%s%ls\n", number.c_str(), name.empty() ? "" : "  ", name.c_str());
}

void print_block(const std::vector<unsigned char> &block)
{
    auto [header, results] = Bytes(block.data(), block.size()).take(&PERF_DATA_HEADER::dwTotalSize);
    if (header.dwNumCounters != 1)
        throw Failure("another number of results than entries", ERROR_INVALID_DATA);

    auto [counter, result] = results.take(&PERF_COUNTER_HEADER::dwSize);
    switch (counter.dwType) {
    case PERF_ERROR_RETURN: // 232, ERROR_NO_DATA: there is no instance, or the single one has no value
        throw Failure("no values", counter.dwStatus);
    case PERF_SINGLE_COUNTER: // of a counterset with a single instance
        print_value(result, Text());
        break;
    case PERF_MULTIPLE_INSTANCES: {
        auto [instances, rows] = result.take(&PERF_MULTI_INSTANCES::dwTotalSize);
        for (DWORD i = 0; i < instances.dwInstances; i++) {
            const auto [instance, name] = rows.take(&PERF_INSTANCE_HEADER::Size);
            print_value(rows, printable(name.text()));
        }
        break;
    }
    default: // the other two kinds answer for PERF_WILDCARD_COUNTER, all counters at once
        throw Failure("another kind of result than asked for", ERROR_INVALID_DATA);
    }
}

// With or without braces.
std::optional<GUID> parse_guid(std::string_view argument)
{
    if (argument.size() == 38 && argument.front() == '{' && argument.back() == '}')
        argument = argument.substr(1, 36);
    const std::string text(argument);
    GUID guid = {};
    auto &tail = guid.Data4;
    int length = 0;
    std::sscanf(text.c_str(), "%8x-%4hx-%4hx-%2hhx%2hhx-%2hhx%2hhx%2hhx%2hhx%2hhx%2hhx%n",
        &guid.Data1, &guid.Data2, &guid.Data3,
        &tail[0], &tail[1], &tail[2], &tail[3], &tail[4], &tail[5], &tail[6], &tail[7], &length);
    if (length != 36 || text.size() != 36)
        return std::nullopt;
    return guid;
}

std::optional<ULONG> parse_id(const char *argument)
{
    char *end = nullptr;
    const unsigned long long id = std::strtoull(argument, &end, 0);
    if (*argument < '0' || *argument > '9' || *end != '\0' || id >= PERF_WILDCARD_COUNTER)
        return std::nullopt;
    return static_cast<ULONG>(id);
}

int main(int argc, char **argv)
{
    // %ls turns wide text into the locale's encoding. The C locale knows nothing beyond ASCII.
    std::setlocale(LC_CTYPE, "");
    if (MB_CUR_MAX == 1)
        std::setlocale(LC_CTYPE, "C.UTF-8");

    const auto counterset = argc == 3 ? parse_guid(argv[1]) : std::nullopt;
    const auto counter = argc == 3 ? parse_id(argv[2]) : std::nullopt;
    if (!counterset || !counter) {
        std::fprintf(stderr, "usage: wildcard GUID COUNTER_ID\n");
        return 2;
    }
    try {
        Query query;
        query.add(*counterset, *counter);
        const ULONG type = type_of(*counterset, *counter);
        std::printf("type 0x%08x, %s\n", type, name_of(type));
        print_block(query.collect());
    } catch (const std::exception &error) {
        std::fprintf(stderr, "wildcard: %s\n", error.what());
        return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}
