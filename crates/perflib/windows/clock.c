/* Sleeping, the time since the machine started, and Windows' two forms of a date. */
#include "internal.h"

#include <errno.h>
#include <time.h>

#pragma GCC visibility push(hidden)

#define FOREVER UINT32_MAX

/* 100 ns units. */
#define SECOND INT64_C(10000000)
#define DAY (86400 * SECOND)

/* Days from 1601-01-01 to 1970-01-01. */
#define UNIX_DAYS 134774

struct file_time {
    uint32_t low, high;
};

struct system_time {
    uint16_t year, month, weekday, day, hour, minute, second, millisecond;
};

void perflib_Sleep(uint32_t milliseconds);
void perflib_Sleep(uint32_t milliseconds)
{
    struct timespec rest = { (time_t)(milliseconds / 1000), (long)(milliseconds % 1000) * 1000000 };
    int error = errno;
    do {
        if (milliseconds == FOREVER) rest.tv_sec = 1000000;
        while (nanosleep(&rest, &rest) != 0 && errno == EINTR) continue;
    } while (milliseconds == FOREVER);
    errno = error;
}

uint64_t perflib_GetTickCount64(void);
uint64_t perflib_GetTickCount64(void)
{
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

uint32_t perflib_GetTickCount(void);
uint32_t perflib_GetTickCount(void)
{
    return (uint32_t)perflib_GetTickCount64();
}

static bool is_leap(int64_t year)
{
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

static unsigned days_in(int64_t year, unsigned month)
{
    static const uint8_t days[12] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
    return days[month - 1] + (month == 2 && is_leap(year) ? 1u : 0u);
}

/* Days from 1601-01-01, a Monday that begins a cycle of 400 years, to the first day of a year. */
static int64_t days_before(int64_t year)
{
    int64_t years = year - 1601;
    return years * 365 + years / 4 - years / 100 + years / 400;
}

/* The two halves as one number, or an error: no time is that late. */
static bool read_time(const struct file_time *from, int64_t *time)
{
    uint64_t whole = (uint64_t)from->high << 32 | from->low;
    *time = (int64_t)whole;
    if (whole <= INT64_MAX) return true;
    perflib_SetLastError(PERFLIB_INVALID_PARAMETER);
    return false;
}

int perflib_FileTimeToSystemTime(const struct file_time *from, struct system_time *to);
int perflib_FileTimeToSystemTime(const struct file_time *from, struct system_time *to)
{
    int64_t time;
    if (!read_time(from, &time)) return 0;
    int64_t days = time / DAY;
    int64_t rest = time % DAY;
    int64_t year = 1601 + days / 366;
    while (days_before(year + 1) <= days) year++;
    int64_t day = days - days_before(year);
    unsigned month = 1;
    for (; day >= days_in(year, month); month++) day -= days_in(year, month);
    to->year = (uint16_t)year;
    to->month = (uint16_t)month;
    to->weekday = (uint16_t)((days + 1) % 7);
    to->day = (uint16_t)(day + 1);
    to->hour = (uint16_t)(rest / (3600 * SECOND));
    to->minute = (uint16_t)(rest / (60 * SECOND) % 60);
    to->second = (uint16_t)(rest / SECOND % 60);
    to->millisecond = (uint16_t)(rest / (SECOND / 1000) % 1000);
    return 1;
}

int perflib_SystemTimeToFileTime(const struct system_time *from, struct file_time *to);
int perflib_SystemTimeToFileTime(const struct system_time *from, struct file_time *to)
{
    bool is_good = from->year >= 1601 && from->year <= 30827 && from->month >= 1 && from->month <= 12 && from->day >= 1
        && from->day <= days_in(from->year, from->month) && from->hour < 24 && from->minute < 60 && from->second < 60
        && from->millisecond < 1000;
    if (!is_good) {
        perflib_SetLastError(PERFLIB_INVALID_PARAMETER);
        return 0;
    }
    int64_t days = days_before(from->year) + from->day - 1;
    for (unsigned month = 1; month < from->month; month++) days += days_in(from->year, month);
    int64_t seconds = ((int64_t)from->hour * 60 + from->minute) * 60 + from->second;
    uint64_t time = (uint64_t)(days * DAY + seconds * SECOND + from->millisecond * (SECOND / 1000));
    to->low = (uint32_t)time;
    to->high = (uint32_t)(time >> 32);
    return 1;
}

int32_t perflib_CompareFileTime(const struct file_time *left, const struct file_time *right);
int32_t perflib_CompareFileTime(const struct file_time *left, const struct file_time *right)
{
    uint64_t one = (uint64_t)left->high << 32 | left->low;
    uint64_t other = (uint64_t)right->high << 32 | right->low;
    return one == other ? 0 : one < other ? -1 : 1;
}

static void fill(struct system_time *to, const struct tm *date, long nanoseconds)
{
    to->year = (uint16_t)(date->tm_year + 1900);
    to->month = (uint16_t)(date->tm_mon + 1);
    to->weekday = (uint16_t)date->tm_wday;
    to->day = (uint16_t)date->tm_mday;
    to->hour = (uint16_t)date->tm_hour;
    to->minute = (uint16_t)date->tm_min;
    to->second = (uint16_t)(date->tm_sec < 60 ? date->tm_sec : 59);
    to->millisecond = (uint16_t)(nanoseconds / 1000000);
}

void perflib_GetSystemTime(struct system_time *to);
void perflib_GetSystemTime(struct system_time *to)
{
    struct timespec now;
    struct tm date;
    clock_gettime(CLOCK_REALTIME, &now);
    fill(to, gmtime_r(&now.tv_sec, &date), now.tv_nsec);
}

void perflib_GetLocalTime(struct system_time *to);
void perflib_GetLocalTime(struct system_time *to)
{
    struct timespec now;
    struct tm date;
    clock_gettime(CLOCK_REALTIME, &now);
    fill(to, localtime_r(&now.tv_sec, &date), now.tv_nsec);
}

/* The file's time as a clock on the wall showed it then. */
int perflib_FileTimeToLocalFileTime(const struct file_time *from, struct file_time *to);
int perflib_FileTimeToLocalFileTime(const struct file_time *from, struct file_time *to)
{
    int64_t time;
    if (!read_time(from, &time)) return 0;
    time_t seconds = (time_t)(time / SECOND - INT64_C(86400) * UNIX_DAYS);
    struct tm date;
    uint64_t local = (uint64_t)time;
    if (localtime_r(&seconds, &date) != NULL) local += (uint64_t)((int64_t)date.tm_gmtoff * SECOND);
    to->low = (uint32_t)local;
    to->high = (uint32_t)(local >> 32);
    return 1;
}

#pragma GCC visibility pop
