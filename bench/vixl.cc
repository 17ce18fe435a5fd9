// VIXL's decoder with a visitor that does nothing: what every use of VIXL pays at least.
#include <aarch64/decoder-aarch64.h>
#include <aarch64/instructions-aarch64.h>

#include "shims.h"

namespace
{
struct decoder {
    vixl::aarch64::Decoder graph;
    vixl::aarch64::DecoderVisitorWithDefaults visitor;
    decoder()
    {
        graph.AppendVisitor(&visitor);
    }
};
} // namespace

void *bench_vixl_new(void)
{
    static decoder only;
    return &only;
}

size_t bench_vixl_run(void *vixl, const uint8_t *text, size_t size)
{
    using vixl::aarch64::Instruction;
    decoder *d = static_cast<decoder *>(vixl);
    for (size_t at = 0; at + 4 <= size; at += 4)
        d->graph.Decode(reinterpret_cast<const Instruction *>(text + at));
    return size / 4;
}
