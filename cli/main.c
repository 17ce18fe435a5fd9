/* xolsim: one program, one verb a command. */
#include <string.h>

#include "cli.h"

static const struct {
    const char *name;
    int (*run)(const options *);
} commands[] = {{"classify", command_classify}, {"explain", command_explain},   {"table", command_table},
                {"simulate", command_simulate}, {"lockstep", command_lockstep}, {"audit", command_audit},
                {"kernel", command_kernel}};

int main(int argc, char **argv)
{
    options o;
    if (argc > 1 && strcmp(argv[1], "help") == 0) argv[1] = "--help";
    if (argc < 2 || *argv[1] == '-') {
        if (argc < 2) options_help(stderr);
        int status = argc < 2 ? STATUS_USAGE : options_parse(&o, argc, argv);
        return status >= 0 ? status : complain(STATUS_USAGE, "no command; see xolsim --help");
    }
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        if (strcmp(commands[i].name, argv[1]) != 0) continue;
        int status = options_parse(&o, argc - 1, argv + 1);
        return status >= 0 ? status : commands[i].run(&o);
    }
    return complain(STATUS_USAGE, "unknown command '%s'; see xolsim --help", argv[1]);
}
